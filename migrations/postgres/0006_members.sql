-- A lease is a member: a daemon that may run graphs, which the others rank for each (M52). What a release before
-- this one has put here is ranked as any other.
ALTER TABLE lease ADD COLUMN member   text    COLLATE "C" NOT NULL DEFAULT ''; -- the process; '' for the owner itself
ALTER TABLE lease ADD COLUMN address  text    NOT NULL DEFAULT ''; -- where it is reached, '' when it has not said
ALTER TABLE lease ADD COLUMN version  text    NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN capacity bigint  NOT NULL DEFAULT 1; -- its weight
ALTER TABLE lease ADD COLUMN started  bigint  NOT NULL DEFAULT 0; -- nanoseconds since 1970
ALTER TABLE lease ADD COLUMN leaving  boolean NOT NULL DEFAULT false; -- it is about to end
ALTER TABLE lease ADD COLUMN drained  boolean NOT NULL DEFAULT false; -- it is to run nothing

-- What a member owns is asked for every second.
CREATE INDEX graph_number_owner ON graph_number (owner);
