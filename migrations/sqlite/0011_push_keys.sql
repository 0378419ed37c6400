-- Pushes with an Idempotency-Key, written with the journal that makes them durable: a row for each batch of one. A
-- release that does not know the table leaves it alone, and takes a push that is repeated there for a new one.
CREATE TABLE push_key (
    tenant      TEXT    NOT NULL,
    state       INTEGER NOT NULL,
    accumulator TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    first       INTEGER NOT NULL, -- the place of the batch's first event in the body
    hash        BLOB    NOT NULL, -- of the body
    shards      INTEGER NOT NULL, -- the number of shards that the batch was dealt to
    done        INTEGER NOT NULL, -- events of the batch that were dealt with
    at          INTEGER NOT NULL,
    size        INTEGER NOT NULL, -- bytes of key and outcome
    sum         INTEGER NOT NULL, -- CRC-32C over the others but at and size
    outcome     BLOB    NOT NULL,
    PRIMARY KEY (state, accumulator, key, first)
) STRICT;

-- What retention looks at, so that it reads no outcome.
CREATE INDEX push_key_retention ON push_key (state, at, size);
