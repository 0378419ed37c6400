package poll

import (
	"errors"
	"strings"

	"github.com/graphd/graphd/internal/outbound"
)

// connection is a database as a declaration names it.
type connection struct {
	name string             // of one of the daemon's configuration
	path string             // of an SQLite file
	to   *outbound.Database // of a Postgres database
}

func (c *connection) sqlite() bool { return c.path != "" }

// parseConnection reads the address of a database. An error holds none of it.
func parseConnection(s string) (connection, error) {
	if path, ok := strings.CutPrefix(s, "sqlite:"); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return connection{}, errors.New("an SQLite database is named as sqlite:PATH")
		}
		return connection{path: path}, nil
	}
	if outbound.ValidName(s) {
		return connection{name: s}, nil
	}
	if !strings.HasPrefix(s, "postgres") {
		return connection{}, errors.New("name the database as postgres://USER@HOST/DATABASE, or sqlite:PATH, or by a " +
			"name that the daemon's configuration has for it")
	}
	to, err := outbound.ParseDatabase(s)
	return connection{to: to}, err
}

// databaseOf names a database without user, password and parameters: with others it is the
// same.
func databaseOf(s string) string {
	if c, err := parseConnection(s); err == nil && c.to != nil {
		return c.to.Name()
	}
	return s
}

// find is a connection of the daemon's configuration.
func (c *connection) find(named outbound.Named) (connection, error) {
	address, err := named.Find(c.name)
	if err != nil {
		return connection{}, err
	}
	to, err := outbound.ParseDatabase(address)
	return connection{to: to}, err
}
