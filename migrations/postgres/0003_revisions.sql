-- The declarations that a graph has had, the newest ones: its history. The one that counts is
-- in declaration. They go with the graph's state.
CREATE TABLE revision (
    tenant   text   COLLATE "C" NOT NULL,
    graph    text   COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    origin   text   NOT NULL,
    updated  bigint NOT NULL,
    token    text   NOT NULL, -- the name of the token that it was applied with; '' without
    agent    text   NOT NULL, -- what the program that applied it calls itself
    host     text   NOT NULL, -- where the call came from
    change   text   NOT NULL, -- what it changed, in a word
    text     text   NOT NULL,
    PRIMARY KEY (tenant, graph, revision)
);
INSERT INTO revision SELECT tenant, graph, revision, origin, updated, '', '', '', '', text FROM declaration;
