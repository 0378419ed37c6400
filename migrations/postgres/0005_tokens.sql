-- The tokens that open the daemon, all of each but its secret: sum is the SHA-256 of the token's text.
-- None is ever removed: a store that has had one asks everybody for one.
CREATE TABLE token (
    id         text    NOT NULL PRIMARY KEY,
    tenant     text    NOT NULL, -- '*' for every one
    name       text    NOT NULL,
    role       text    NOT NULL,
    graphs     text    NOT NULL, -- globs, a line each; '' for all graphs
    read_only  boolean NOT NULL,
    sum        bytea   NOT NULL,
    created_by text    NOT NULL,
    created    bigint  NOT NULL, -- nanoseconds since 1970
    expires    bigint  NOT NULL,
    used       bigint  NOT NULL, -- within some minutes; 0 for never
    revoked    bigint  NOT NULL  -- 0 for not
);
