-- What opens the daemon for a while: browsers' sessions and tickets for sockets. sum is the SHA-256 of the text that
-- its bearer has. A row is removed when it is used up, or some time after its end.
CREATE TABLE pass (
    sum    BLOB    NOT NULL PRIMARY KEY,
    kind   TEXT    NOT NULL,
    tenant TEXT    NOT NULL,
    holder TEXT    NOT NULL, -- whose passes are counted together and end together
    made   INTEGER NOT NULL, -- nanoseconds since 1970
    ends   INTEGER NOT NULL,
    who    BLOB    NOT NULL  -- whom it acts as
) STRICT, WITHOUT ROWID;
CREATE INDEX pass_ends ON pass (ends);
CREATE INDEX pass_tenant ON pass (kind, tenant, made);
CREATE INDEX pass_holder ON pass (holder, kind, made);
