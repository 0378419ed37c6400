-- Room for shards, and for stores that two releases share.
--
-- What a graph persists hangs on a state, and a state belongs to one shard of a graph: rows
-- that carry a state need no column for it. What names a graph names its shard too, 0 for
-- all that an unsharded graph has.

-- What format wrote the store, and the lowest one that can read it. A graphd states its own
-- range; where the two do not meet it refuses and touches nothing.
CREATE TABLE store_format (
    format        INTEGER NOT NULL,
    readable_from INTEGER NOT NULL
) STRICT;
INSERT INTO store_format VALUES (2, 2);

CREATE TABLE graph_number_2 (
    tenant   TEXT    NOT NULL,
    graph    TEXT    NOT NULL,
    shard    INTEGER NOT NULL,
    fence    INTEGER NOT NULL,
    revision INTEGER NOT NULL, -- that of shard 0 counts: a declaration is the whole graph's
    PRIMARY KEY (tenant, graph, shard)
) STRICT, WITHOUT ROWID;
INSERT INTO graph_number_2 SELECT tenant, graph, 0, fence, revision FROM graph_number;
DROP TABLE graph_number;
ALTER TABLE graph_number_2 RENAME TO graph_number;

-- attempts counts the owners that have tried attempted_epoch since it was last done;
-- attempted_by is the fence of the last of them, 0 when it lives to say that it was not that
-- epoch that ended it.
CREATE TABLE graph_head_2 (
    state           INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant          TEXT    NOT NULL,
    graph           TEXT    NOT NULL,
    shard           INTEGER NOT NULL,
    instance        TEXT    NOT NULL,
    incarnation     INTEGER NOT NULL,
    fence           INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    attempted_epoch INTEGER NOT NULL,
    attempted_by    INTEGER NOT NULL,
    unclean_starts  INTEGER NOT NULL,
    clean           INTEGER NOT NULL, -- 1 once the last owner has stopped cleanly
    cells           INTEGER NOT NULL,
    firings         INTEGER NOT NULL,
    sum             INTEGER NOT NULL,
    journal         INTEGER NOT NULL,
    meta            BLOB    NOT NULL,
    UNIQUE (tenant, graph, shard)
) STRICT;
-- What the release before counted were starts, not epochs: nothing of it is held against a graph.
INSERT INTO graph_head_2 SELECT state, tenant, graph, 0, instance, incarnation, fence, epoch, seq, at,
    0, 0, 0, unclean_starts, unclean_starts = 0, cells, firings, sum, journal, meta FROM graph_head;
-- A state is never given twice, that of a deleted graph neither.
DELETE FROM sqlite_sequence WHERE name = 'graph_head_2';
INSERT INTO sqlite_sequence SELECT 'graph_head_2', seq FROM sqlite_sequence WHERE name = 'graph_head';
DROP TABLE graph_head;
ALTER TABLE graph_head_2 RENAME TO graph_head;

ALTER TABLE recovery_event ADD COLUMN shard INTEGER NOT NULL DEFAULT 0;
