-- Every table carries the tenant; what belongs to one key of a keyed graph carries
-- the key ('' in an unkeyed one). Times are nanoseconds since 1970 UTC, 0 for none.

-- The numbers that may never be given twice for a name, whatever is deleted: the
-- fence, so that an owner from before a deletion can not write, and the revision,
-- so that a condition on a revision from before a deletion can not hold.
CREATE TABLE graph_number (
    tenant   TEXT    NOT NULL,
    graph    TEXT    NOT NULL,
    fence    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (tenant, graph)
) STRICT, WITHOUT ROWID;

-- One row per graph. Every commit begins by updating it where fence and seq match.
-- What a graph has persisted hangs on state, which is never given twice: deleting a
-- graph is deleting this row, and what hung on it is swept later, little by little.
CREATE TABLE graph_head (
    state           INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant          TEXT    NOT NULL,
    graph           TEXT    NOT NULL,
    instance        TEXT    NOT NULL,
    incarnation     INTEGER NOT NULL,
    fence           INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    attempted_epoch INTEGER NOT NULL,
    unclean_starts  INTEGER NOT NULL,
    cells           INTEGER NOT NULL, -- rows of this state in cell: a lost one is noticed
    firings         INTEGER NOT NULL, -- rows of this state in firing: the ring is trimmed without counting
    sum             INTEGER NOT NULL, -- CRC-32C over epoch, seq, at and meta
    meta            BLOB    NOT NULL,
    UNIQUE (tenant, graph)
) STRICT;

-- States whose rows are still to be swept.
CREATE TABLE dropped_state (
    state  INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL
) STRICT;

-- The state of graphs. The data is outside the index: comparing keys in a b-tree
-- whose rows hold the data would read whole cells, and a cell may have 50 MB.
CREATE TABLE cell (
    tenant TEXT    NOT NULL,
    state  INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    sum    INTEGER NOT NULL, -- CRC-32C over kind, name, key and data
    data   BLOB    NOT NULL,
    PRIMARY KEY (state, kind, name, key)
) STRICT;

-- The history ring.
CREATE TABLE firing (
    tenant      TEXT    NOT NULL,
    state       INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    data        BLOB    NOT NULL,
    PRIMARY KEY (state, incarnation, epoch)
) STRICT;

CREATE TABLE dead_letter (
    tenant      TEXT    NOT NULL,
    state       INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    size        INTEGER NOT NULL, -- bytes of payload
    accumulator TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    code        TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    epoch       INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    position    TEXT    NOT NULL,
    events      INTEGER NOT NULL,
    folded      INTEGER NOT NULL,
    replay_of   TEXT    NOT NULL,
    payload     BLOB    NOT NULL,
    PRIMARY KEY (state, id)
) STRICT;

-- What pruning looks at, so that it reads no payload.
CREATE INDEX dead_letter_retention ON dead_letter (state, id, at, size);

CREATE TABLE recovery_event (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant      TEXT    NOT NULL,
    graph       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    component   TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    stack       TEXT    NOT NULL,
    attempt     INTEGER NOT NULL,
    delay       INTEGER NOT NULL, -- nanoseconds
    outcome     TEXT    NOT NULL,
    incarnation INTEGER NOT NULL
) STRICT;

CREATE INDEX recovery_event_graph ON recovery_event (tenant, graph, id);
CREATE INDEX recovery_event_age ON recovery_event (at);

CREATE TABLE declaration (
    tenant   TEXT    NOT NULL,
    graph    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    origin   TEXT    NOT NULL,
    updated  INTEGER NOT NULL,
    text     TEXT    NOT NULL,
    PRIMARY KEY (tenant, graph)
) STRICT;
