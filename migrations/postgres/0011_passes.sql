-- What opens the daemons for a while: browsers' sessions and tickets for sockets. sum is the SHA-256 of the text that
-- its bearer has. A row is removed when it is used up, or some time after its end.
CREATE TABLE pass (
    sum    bytea  NOT NULL PRIMARY KEY,
    kind   text   COLLATE "C" NOT NULL,
    tenant text   COLLATE "C" NOT NULL,
    holder text   COLLATE "C" NOT NULL, -- whose passes are counted together and end together
    made   bigint NOT NULL,             -- nanoseconds since 1970
    ends   bigint NOT NULL,
    who    bytea  NOT NULL              -- whom it acts as
);
CREATE INDEX pass_ends ON pass (ends);
CREATE INDEX pass_tenant ON pass (kind, tenant, made);
CREATE INDEX pass_holder ON pass (holder, kind, made);

-- No reader has any.
DO $$
BEGIN
    ALTER TABLE pass ENABLE ROW LEVEL SECURITY;
    EXECUTE 'CREATE POLICY readers ON pass USING ((SELECT has_table_privilege(''pass''::regclass, ''UPDATE'')))';
END $$;
