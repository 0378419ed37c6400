-- Every table carries the tenant where a graph is named; what belongs to one key of a keyed
-- graph carries the key ('' in an unkeyed one). Times are nanoseconds since 1970 UTC, 0 for
-- none. Names are compared byte by byte.

-- The numbers that may never be given twice for a name, whatever is deleted: the fence, so
-- that an owner from before a deletion can not write, and the revision, so that a condition
-- on a revision from before a deletion can not hold. owner is the lease that runs the graph.
CREATE TABLE graph_number (
    tenant   text   COLLATE "C" NOT NULL,
    graph    text   COLLATE "C" NOT NULL,
    fence    bigint NOT NULL,
    revision bigint NOT NULL,
    owner    text   COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, graph)
) WITH (fillfactor = 70);

-- One row per daemon that may run graphs. What is past expires_at, by this database's clock,
-- is removed by whoever finds it, and never comes back: an owner without a row is dead.
CREATE TABLE lease (
    owner       text   COLLATE "C" PRIMARY KEY,
    name        text   NOT NULL, -- for people: host, process and address
    application text   NOT NULL, -- application_name of its connections
    expires_at  timestamptz NOT NULL
) WITH (fillfactor = 50);

-- One row per graph. Every commit begins by updating it where fence and seq match. What a
-- graph has persisted hangs on state, which is never given twice: deleting a graph is
-- deleting this row, and what hung on it is swept later, little by little.
CREATE TABLE graph_head (
    state            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant           text   COLLATE "C" NOT NULL,
    graph            text   COLLATE "C" NOT NULL,
    instance         text   NOT NULL,
    incarnation      bigint NOT NULL,
    fence            bigint NOT NULL,
    epoch            bigint NOT NULL,
    seq              bigint NOT NULL,
    at               bigint NOT NULL,
    attempts         bigint NOT NULL,
    attempted_epoch  bigint NOT NULL,
    unclean_starts   bigint NOT NULL,
    firings          bigint NOT NULL, -- rows of this state in firing: the ring is trimmed without counting
    ring_incarnation bigint NOT NULL, -- the newest firing's, so that one out of order is noticed
    ring_epoch       bigint NOT NULL,
    sum              bigint NOT NULL, -- CRC-32C over epoch, seq, at and meta
    meta             bytea  NOT NULL,
    UNIQUE (tenant, graph)
) WITH (fillfactor = 50);

-- Where the journal ends. It stands beside the head, so that an append never waits for a commit.
CREATE TABLE graph_journal (
    state bigint PRIMARY KEY,
    fence bigint NOT NULL,
    last  bigint NOT NULL -- the greatest seq; it stays when the entries are trimmed
) WITH (fillfactor = 50);

-- States whose rows are still to be swept.
CREATE TABLE dropped_state (state bigint PRIMARY KEY);

-- The state of graphs.
CREATE TABLE cell (
    state bigint NOT NULL,
    kind  text   COLLATE "C" NOT NULL,
    name  text   COLLATE "C" NOT NULL,
    key   text   COLLATE "C" NOT NULL,
    sum   bigint NOT NULL, -- CRC-32C over kind, name, key and data
    data  bytea  NOT NULL,
    PRIMARY KEY (state, kind, name, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Compressing large cells would cost more than it saves.
ALTER TABLE cell ALTER COLUMN data SET STORAGE EXTERNAL;

-- The history ring.
CREATE TABLE firing (
    state       bigint NOT NULL,
    incarnation bigint NOT NULL,
    epoch       bigint NOT NULL,
    key         text   COLLATE "C" NOT NULL,
    data        bytea  NOT NULL,
    PRIMARY KEY (state, incarnation, epoch)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE dead_letter (
    state       bigint  NOT NULL,
    id          text    COLLATE "C" NOT NULL,
    at          bigint  NOT NULL,
    size        bigint  NOT NULL, -- bytes of payload
    accumulator text    NOT NULL,
    stage       text    NOT NULL,
    code        text    NOT NULL,
    reason      text    NOT NULL,
    epoch       bigint  NOT NULL,
    key         text    COLLATE "C" NOT NULL,
    position    text    NOT NULL,
    events      bigint  NOT NULL,
    folded      boolean NOT NULL,
    replay_of   text    NOT NULL,
    payload     bytea   NOT NULL,
    PRIMARY KEY (state, id)
);

-- What was admitted since the checkpoint. Dense: a lost row is noticed.
CREATE TABLE journal (
    state bigint NOT NULL,
    seq   bigint NOT NULL,
    at    bigint NOT NULL,
    sum   bigint NOT NULL, -- CRC-32C over seq and data
    data  bytea  NOT NULL,
    PRIMARY KEY (state, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- What was committed for sinks and is not delivered yet.
CREATE TABLE outbox (
    state     bigint NOT NULL,
    output    text   COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    epoch     bigint NOT NULL,
    key       text   NOT NULL,
    firing_id text   NOT NULL,
    at        bigint NOT NULL,
    size      bigint NOT NULL, -- bytes of data
    sum       bigint NOT NULL, -- CRC-32C over output, firing_id, seq and data
    data      bytea  NOT NULL,
    PRIMARY KEY (state, output, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE recovery_event (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant      text   COLLATE "C" NOT NULL,
    graph       text   COLLATE "C" NOT NULL,
    at          bigint NOT NULL,
    component   text   NOT NULL,
    kind        text   NOT NULL,
    reason      text   NOT NULL,
    stack       text   NOT NULL,
    attempt     bigint NOT NULL,
    delay       bigint NOT NULL, -- nanoseconds
    outcome     text   NOT NULL,
    incarnation bigint NOT NULL
);

CREATE INDEX recovery_event_graph ON recovery_event (tenant, graph, id);
CREATE INDEX recovery_event_age ON recovery_event (at);

CREATE TABLE declaration (
    tenant   text   COLLATE "C" NOT NULL,
    graph    text   COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    origin   text   NOT NULL,
    updated  bigint NOT NULL,
    text     text   NOT NULL,
    PRIMARY KEY (tenant, graph)
);

-- Grows with every change of a declaration, so that daemons see cheaply that there was one.
CREATE TABLE declaration_change (version bigint NOT NULL);
INSERT INTO declaration_change VALUES (1);
