-- The audit: a chain of entries for each tenant ('*' for what is of none). They are added at the end and removed
-- at the beginning; sum is the SHA-256 of prev, of seq as 8 bytes and of body.
CREATE TABLE audit_entry (
    tenant  text   NOT NULL,
    seq     bigint NOT NULL,
    at      bigint NOT NULL, -- nanoseconds since 1970; it, subject and graph repeat what is in body
    subject text   NOT NULL,
    graph   text   NOT NULL,
    prev    bytea  NOT NULL,
    sum     bytea  NOT NULL,
    body    text   NOT NULL, -- JSON
    PRIMARY KEY (tenant, seq)
);

CREATE INDEX audit_entry_at ON audit_entry (tenant, at);

-- Where each chain ends, and the last entry that was removed from its beginning (0 for none).
CREATE TABLE audit_chain (
    tenant      text   NOT NULL PRIMARY KEY,
    seq         bigint NOT NULL,
    sum         bytea  NOT NULL,
    prev        bytea  NOT NULL, -- the sum of the entry before the last
    removed     bigint NOT NULL,
    removed_sum bytea  NOT NULL
);
