-- The tokens that open the daemon, all of each but its secret: sum is the SHA-256 of the token's text.
-- None is ever removed: a store that has had one asks everybody for one.
CREATE TABLE token (
    id         TEXT    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL, -- '*' for every one
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    graphs     TEXT    NOT NULL, -- globs, a line each; '' for all graphs
    read_only  INTEGER NOT NULL,
    sum        BLOB    NOT NULL,
    created_by TEXT    NOT NULL,
    created    INTEGER NOT NULL, -- nanoseconds since 1970
    expires    INTEGER NOT NULL,
    used       INTEGER NOT NULL, -- within some minutes; 0 for never
    revoked    INTEGER NOT NULL  -- 0 for not
) STRICT, WITHOUT ROWID;
