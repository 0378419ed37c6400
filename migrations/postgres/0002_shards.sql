-- Room for shards, and for stores that two releases share.
--
-- What a graph persists hangs on a state, and a state belongs to one shard of a graph: rows
-- that carry a state need no column for it. What names a graph names its shard too, 0 for
-- all that an unsharded graph has.

-- What format wrote the store, and the lowest one that can read it. A graphd states its own
-- range; where the two do not meet it refuses and touches nothing.
CREATE TABLE store_format (
    format        bigint NOT NULL,
    readable_from bigint NOT NULL
);
INSERT INTO store_format VALUES (2, 2);

-- The revision of shard 0 counts: a declaration is the whole graph's.
ALTER TABLE graph_number ADD COLUMN shard bigint NOT NULL DEFAULT 0;
ALTER TABLE graph_number DROP CONSTRAINT graph_number_pkey;
ALTER TABLE graph_number ADD PRIMARY KEY (tenant, graph, shard);

-- attempts counts the owners that have tried attempted_epoch since it was last done;
-- attempted_by is the fence of the last of them, 0 when it lives to say that it was not that
-- epoch that ended it. What the release before counted were starts, not epochs: nothing of it
-- is held against a graph.
ALTER TABLE graph_head ADD COLUMN shard bigint NOT NULL DEFAULT 0;
ALTER TABLE graph_head ADD COLUMN attempted_by bigint NOT NULL DEFAULT 0;
ALTER TABLE graph_head ADD COLUMN clean boolean NOT NULL DEFAULT false; -- true once the last owner has stopped cleanly
ALTER TABLE graph_head DROP CONSTRAINT graph_head_tenant_graph_key;
ALTER TABLE graph_head ADD UNIQUE (tenant, graph, shard);
UPDATE graph_head SET attempts = 0, attempted_epoch = 0, clean = unclean_starts = 0;

ALTER TABLE recovery_event ADD COLUMN shard bigint NOT NULL DEFAULT 0;
