-- The declarations that a graph has had, the newest ones: its history. The one that counts is
-- in declaration. They go with the graph's state.
CREATE TABLE revision (
    tenant   TEXT    NOT NULL,
    graph    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    origin   TEXT    NOT NULL,
    updated  INTEGER NOT NULL,
    token    TEXT    NOT NULL, -- the name of the token that it was applied with; '' without
    agent    TEXT    NOT NULL, -- what the program that applied it calls itself
    host     TEXT    NOT NULL, -- where the call came from
    change   TEXT    NOT NULL, -- what it changed, in a word
    text     TEXT    NOT NULL,
    PRIMARY KEY (tenant, graph, revision)
) STRICT;
INSERT INTO revision SELECT tenant, graph, revision, origin, updated, '', '', '', '', text FROM declaration;
