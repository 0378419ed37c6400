-- What was last said of a member that was drained: of the process, which may lose its lease and make another before it has
-- heard of it (M52). A release that does not know the table says it of the lease alone.
CREATE TABLE member_drain (
    member  text        COLLATE "C" NOT NULL PRIMARY KEY,
    drained boolean     NOT NULL,
    said    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- As of the other tables that are not one tenant's alone, readers read nothing of it.
DO $$
BEGIN
    ALTER TABLE member_drain ENABLE ROW LEVEL SECURITY;
    EXECUTE 'CREATE POLICY readers ON member_drain
        USING ((SELECT has_table_privilege(''member_drain''::regclass, ''UPDATE'')))';
END $$;
