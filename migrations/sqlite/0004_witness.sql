-- Which witness the file has (see witness.go), and whether it was closed cleanly. It is empty
-- until the store is first opened.
CREATE TABLE store_file (
    id    BLOB    NOT NULL,
    clean INTEGER NOT NULL
) STRICT;
