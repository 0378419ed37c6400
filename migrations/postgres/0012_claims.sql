-- What one daemon at a time does with a graph whose shards run at several (M54): deal its keys anew, or replay its dead
-- letters. A claim goes with the lease that it was made under.
CREATE TABLE graph_claim (
    tenant text COLLATE "C" NOT NULL,
    graph  text COLLATE "C" NOT NULL,
    claim  text COLLATE "C" NOT NULL,
    owner  text COLLATE "C" NOT NULL REFERENCES lease (owner) ON DELETE CASCADE,
    PRIMARY KEY (tenant, graph, claim)
);
CREATE INDEX graph_claim_owner ON graph_claim (owner);

-- As of the other tables that are not one tenant's alone, readers read nothing of it.
DO $$
BEGIN
    ALTER TABLE graph_claim ENABLE ROW LEVEL SECURITY;
    EXECUTE format('CREATE POLICY readers ON %I USING ((SELECT has_table_privilege(%L::regclass, ''UPDATE'')))',
        'graph_claim', 'graph_claim');
END $$;
