-- The journal and the outbox. Both hang on state, as all that a graph persists.

-- The greatest seq of the journal; it stays when the entries are trimmed.
ALTER TABLE graph_head ADD COLUMN journal INTEGER NOT NULL DEFAULT 0;

-- What was admitted since the checkpoint. Dense: a lost row is noticed.
CREATE TABLE journal (
    tenant TEXT    NOT NULL,
    state  INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    sum    INTEGER NOT NULL, -- CRC-32C over seq and data
    data   BLOB    NOT NULL,
    PRIMARY KEY (state, seq)
) STRICT;

-- What was committed for sinks and is not delivered yet.
CREATE TABLE outbox (
    tenant    TEXT    NOT NULL,
    state     INTEGER NOT NULL,
    output    TEXT    NOT NULL,
    seq       INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    firing_id TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    size      INTEGER NOT NULL, -- bytes of data
    sum       INTEGER NOT NULL, -- CRC-32C over output, firing_id, seq and data
    data      BLOB    NOT NULL,
    PRIMARY KEY (state, output, seq)
) STRICT;

-- What the depth looks at, so that it reads no data.
CREATE INDEX outbox_depth ON outbox (state, output, seq, at, size);
