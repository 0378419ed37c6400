package poll

import (
	"errors"
	"strings"

	"github.com/graphd/graphd/internal/outbound"
)

// connection is a database as a declaration names it.
type connection struct {
	path string             // of an SQLite file
	to   *outbound.Database // of a Postgres database
}

func (c *connection) sqlite() bool { return c.to == nil }

// parseConnection reads the address of a database. An error holds none of it.
func parseConnection(s string) (connection, error) {
	if path, ok := strings.CutPrefix(s, "sqlite:"); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return connection{}, errors.New("an SQLite database is named as sqlite:PATH")
		}
		return connection{path: path}, nil
	}
	if !strings.HasPrefix(s, "postgres") {
		return connection{}, errors.New("name the database as postgres://USER@HOST/DATABASE, or sqlite:PATH")
	}
	to, err := outbound.ParseDatabase(s)
	return connection{to: to}, err
}

// databaseOf names a database without user, password and parameters: with others it is the
// same.
func databaseOf(s string) string {
	if c, err := parseConnection(s); err == nil && !c.sqlite() {
		return c.to.Name()
	}
	return s
}
