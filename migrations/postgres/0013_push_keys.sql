-- Pushes with an Idempotency-Key, written with the journal that makes them durable: a row for each batch of one. A
-- release that does not know the table leaves it alone, and takes a push that is repeated there for a new one.
CREATE TABLE push_key (
    state       bigint NOT NULL,
    accumulator text   COLLATE "C" NOT NULL,
    key         text   COLLATE "C" NOT NULL,
    first       bigint NOT NULL, -- the place of the batch's first event in the body
    hash        bytea  NOT NULL, -- of the body
    shards      bigint NOT NULL, -- the number of shards that the batch was dealt to
    done        bigint NOT NULL, -- events of the batch that were dealt with
    at          bigint NOT NULL,
    size        bigint NOT NULL, -- bytes of key and outcome
    sum         bigint NOT NULL, -- CRC-32C over the others but at and size
    outcome     bytea  NOT NULL,
    PRIMARY KEY (state, accumulator, key, first)
);

-- What retention looks at, so that it reads no outcome.
CREATE INDEX push_key_retention ON push_key (state, at, size);

DO $$
BEGIN
    ALTER TABLE push_key ENABLE ROW LEVEL SECURITY;
    CREATE POLICY readers ON push_key USING ((SELECT has_table_privilege('push_key'::regclass, 'UPDATE'))
        OR state IN (SELECT reader_states()));
END $$;
