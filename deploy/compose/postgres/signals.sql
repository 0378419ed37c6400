-- The table that the output `signals` of deploy/compose/graphs/quotes.yaml writes to.
CREATE TABLE IF NOT EXISTS signals (
    symbol text             NOT NULL,
    side   text             NOT NULL,
    edge   double precision NOT NULL,
    epoch  bigint           NOT NULL,
    at     timestamptz      NOT NULL
);
