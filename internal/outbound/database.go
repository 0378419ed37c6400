package outbound

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Database is the address of a Postgres database that a declaration names:
// postgres://USER@HOST/DATABASE. What is sent to it is what the address says and nothing of the
// daemon's environment, whose passwords and files are for its own databases.
type Database struct{ url *url.URL }

// parameters are those of an address that may be declared. Others would have the
// driver read the daemon's own files of passwords and services, or dial elsewhere.
func parameters() []string {
	return []string{"application_name", "search_path", "sslcert", "sslkey", "sslmode", "sslrootcert"}
}

// ParseDatabase reads the address of a database. An error holds none of it.
func ParseDatabase(s string) (*Database, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql":
		return nil, errors.New("name the database as postgres://USER@HOST/DATABASE")
	case u.Hostname() == "" || strings.ContainsAny(u.Hostname(), ",/") || u.User.Username() == "" ||
		strings.Trim(u.Path, "/") == "":
		return nil, errors.New("the address of the database needs one host, a user and a database: " +
			"postgres://USER@HOST/DATABASE; the daemon's environment adds nothing to it")
	}
	for name := range u.Query() {
		if !slices.Contains(parameters(), name) {
			return nil, fmt.Errorf("the address of the database has a parameter that is not allowed here; "+
				"there are %s", strings.Join(parameters(), ", "))
		}
	}
	return &Database{u}, nil
}

// Host is where the database is, with its port if it has one: for messages.
func (d *Database) Host() string { return d.url.Host }

// Name is the database without user, password and parameters: with others it is the same.
func (d *Database) Name() string { return d.url.Host + d.url.Path }

// Text is the address for the driver to parse. Everything is said in it, so that nothing comes
// from the environment; name is what the connections are called where the address does not say.
func (d *Database) Text(name string) string {
	q := url.Values{}
	for name, value := range map[string]string{
		"application_name": name, "sslmode": "prefer", "sslcert": "", "sslkey": "", "sslrootcert": "",
		"sslpassword": "", "sslnegotiation": "postgres", "sslsni": "1", "passfile": "", "target_session_attrs": "any",
		"port": "5432", "password": "none", // else the driver looks for one
	} {
		q.Set(name, value)
	}
	for name, values := range d.url.Query() {
		q.Set(name, values[0])
	}
	q.Set("host", d.url.Hostname())
	if port := d.url.Port(); port != "" {
		q.Set("port", port)
	}
	q.Set("user", d.url.User.Username())
	if password, _ := d.url.User.Password(); password != "" {
		q.Set("password", password)
	}
	q.Set("database", strings.Trim(d.url.Path, "/"))
	return "postgres:///?" + q.Encode()
}

// ErrSettings is about an address that the driver refuses; its own words may hold the password.
var ErrSettings = errors.New(
	"the address of the database cannot be used: look at its sslmode and the files it names")

// errFiles is about files that only the operator may name: the driver opens them as they are.
var errFiles = errors.New("the address of the database names files (sslcert, sslkey, sslrootcert), which " +
	"declarations from the network may not; ask the operator of the daemon to give it a name in its connections")

// Usable says whether the driver may be given this address, by a guard's declaration.
func (d *Database) Usable(guard *Guard) error {
	if guard == nil || !guard.strict {
		return nil
	}
	for _, name := range []string{"sslcert", "sslkey", "sslrootcert"} {
		if file := d.url.Query().Get(name); file != "" && file != "system" {
			return errFiles
		}
	}
	return nil
}

// Settings are the driver's for a connection.
func (d *Database) Settings(name string, guard *Guard) (*pgconn.Config, error) {
	if err := d.Usable(guard); err != nil {
		return nil, err
	}
	cfg, err := pgconn.ParseConfig(d.Text(name))
	if err != nil {
		return nil, ErrSettings
	}
	d.Confine(cfg, guard)
	return cfg, nil
}

// Confine takes out of settings that were parsed of the address's Text what came from elsewhere,
// and has the guard dial, names too, which it resolves itself.
func (d *Database) Confine(cfg *pgconn.Config, guard *Guard) {
	cfg.Password, _ = d.url.User.Password()
	params := map[string]string{"application_name": cfg.RuntimeParams["application_name"]}
	if path := d.url.Query().Get("search_path"); path != "" {
		params["search_path"] = path
	}
	cfg.RuntimeParams = params
	if guard != nil && guard.strict {
		cfg.AfterConnect = refuseStore
	}
	cfg.DialFunc = guard.DialContext
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
}

// pgStore asks whether this role may use the tables in which a daemon keeps its graphs. It does not look
// into the search path, which the declaration may say.
const pgStore = `SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
	ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE n.nspname OPERATOR(pg_catalog.=) 'graphd' AND c.relkind OPERATOR(pg_catalog.=) 'r'
	AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
	AND pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE') LIMIT 1`

// ErrStore is in the error of a connection that would reach a daemon's own tables.
var ErrStore = errors.New("this user may use the tables in which graphd keeps its graphs; " +
	"name a user of your own that may not, or another database")

// refuseStore ends a connection over which a declaration from the network could read or write what a daemon keeps.
func refuseStore(ctx context.Context, conn *pgconn.PgConn) error {
	rows, err := conn.Exec(ctx, pgStore).ReadAll()
	if err != nil {
		return err
	}
	if len(rows) > 0 && len(rows[0].Rows) > 0 {
		return ErrStore
	}
	return nil
}

// Explain is an error of the driver about this database for people: without user and password.
func (d *Database) Explain(doing string, err error) error {
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		err = denied
	} else if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Errorf("%s answered: %s (SQLSTATE %s)", d.url.Host, pg.Message, pg.Code)
	} else if lost, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = lost.Unwrap()
	}
	return fmt.Errorf("%s %s: %w", doing, d.url.Host, onceError{err})
}

// onceError says in one line, and once, what every way to a server has failed of.
type onceError struct{ error }

func (e onceError) Error() string {
	lines := strings.Split(e.error.Error(), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "; ")
}

func (e onceError) Unwrap() error { return e.error }
