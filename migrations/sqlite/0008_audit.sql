-- The audit: a chain of entries for each tenant ('*' for what is of none). They are added at the end and removed
-- at the beginning; sum is the SHA-256 of prev, of seq as 8 bytes and of body.
CREATE TABLE audit_entry (
    tenant  TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL, -- nanoseconds since 1970; it, subject and graph repeat what is in body
    subject TEXT    NOT NULL,
    graph   TEXT    NOT NULL,
    prev    BLOB    NOT NULL,
    sum     BLOB    NOT NULL,
    body    TEXT    NOT NULL, -- JSON
    PRIMARY KEY (tenant, seq)
) STRICT;

CREATE INDEX audit_entry_at ON audit_entry (tenant, at);

-- Where each chain ends, and the last entry that was removed from its beginning (0 for none).
CREATE TABLE audit_chain (
    tenant      TEXT    NOT NULL PRIMARY KEY,
    seq         INTEGER NOT NULL,
    sum         BLOB    NOT NULL,
    removed     INTEGER NOT NULL,
    removed_sum BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER audit_entry_stays BEFORE UPDATE ON audit_entry
BEGIN
    SELECT RAISE (ABORT, 'entries of the audit are not changed');
END;
