package wires

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Parse reads a store's address. No error shows a password: the library's repeats the address, which may hold one.
func Parse(dsn string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if file, ok := errors.AsType[*fs.PathError](err); ok { // a certificate that the address names
		return nil, fmt.Errorf("open the Postgres store: the address names a file: %w", file)
	}
	if err != nil {
		return nil, errors.New(
			"open the Postgres store: the address cannot be read; write postgres://USER@HOST:PORT/DATABASE")
	}
	return cfg, nil
}
