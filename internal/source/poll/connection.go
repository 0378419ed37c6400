package poll

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// connection is a database as a declaration names it.
type connection struct {
	path string   // of an SQLite file
	url  *url.URL // of a Postgres database
}

func (c *connection) sqlite() bool { return c.url == nil }

// parameters are those of a Postgres address that may be declared. Others would have the
// driver read the daemon's own files of passwords and services, or dial elsewhere.
func parameters() []string {
	return []string{"application_name", "search_path", "sslcert", "sslkey", "sslmode", "sslrootcert"}
}

// parseConnection reads the address of a database. An error holds none of it.
func parseConnection(s string) (connection, error) {
	if path, ok := strings.CutPrefix(s, "sqlite:"); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return connection{}, errors.New("an SQLite database is named as sqlite:PATH")
		}
		return connection{path: path}, nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql":
		return connection{}, errors.New("name the database as postgres://USER@HOST/DATABASE, or sqlite:PATH")
	case u.Hostname() == "" || strings.ContainsAny(u.Hostname(), ",/") || u.User.Username() == "" ||
		strings.Trim(u.Path, "/") == "":
		return connection{}, errors.New("the address of the database needs one host, a user and a database: " +
			"postgres://USER@HOST/DATABASE; the daemon's environment adds nothing to it")
	}
	for name := range u.Query() {
		if !slices.Contains(parameters(), name) {
			return connection{}, fmt.Errorf("the address of the database has a parameter that is not allowed here; "+
				"there are %s", strings.Join(parameters(), ", "))
		}
	}
	return connection{url: u}, nil
}

// databaseOf names a database without user, password and parameters: with others it is the
// same.
func databaseOf(s string) string {
	if c, err := parseConnection(s); err == nil && !c.sqlite() {
		return c.url.Host + c.url.Path
	}
	return s
}
