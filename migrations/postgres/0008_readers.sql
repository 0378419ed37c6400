-- The second wall between tenants: who may only read these tables reads the rows of the tenants that tenant_reader
-- gives to the role that it has logged in as, and without a line there nothing. Who may write them, a daemon, is held
-- by none of it: it asks for the tenant itself, in every statement. Their owner is not even asked.
CREATE TABLE tenant_reader (
    reader text NOT NULL, -- a role
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (reader, tenant)
);

-- They are run with the rights of their owner, for a reader has none on what they look at.
CREATE FUNCTION reader_tenants() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER AS
    'SELECT tenant FROM tenant_reader WHERE reader = session_user';
CREATE FUNCTION reader_states() RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER AS
    'SELECT h.state FROM graph_head h JOIN tenant_reader r USING (tenant) WHERE r.reader = session_user';

DO $$
DECLARE
    name text;
BEGIN
    -- Nothing of the caller's stands before this schema, a temporary table neither.
    EXECUTE format('ALTER FUNCTION reader_tenants() SET search_path = %I, pg_catalog, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION reader_states() SET search_path = %I, pg_catalog, pg_temp', current_schema());
    FOREACH name IN ARRAY ARRAY['graph_number', 'graph_head', 'recovery_event', 'declaration', 'revision',
        'audit_entry', 'audit_chain'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY readers ON %I USING ((SELECT has_table_privilege(%L::regclass, ''UPDATE'')) '
            'OR tenant IN (SELECT reader_tenants()))', name, name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['cell', 'firing', 'dead_letter', 'journal', 'outbox', 'graph_journal'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY readers ON %I USING ((SELECT has_table_privilege(%L::regclass, ''UPDATE'')) '
            'OR state IN (SELECT reader_states()))', name, name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['token', 'tenant_reader', 'dropped_state'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY readers ON %I USING ((SELECT has_table_privilege(%L::regclass, ''UPDATE'')))',
            name, name);
    END LOOP;
END $$;
