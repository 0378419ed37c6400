package poll

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStatements(t *testing.T) {
	for text, c := range map[string]struct{ postgres, sqlite string }{
		"select 1;\n ;": {}, "WITH x AS (SELECT 1) SELECT * FROM x -- (": {}, "values (1)": {},
		"/* ; */ SELECT ';', \";\", $1": {}, "(SELECT 1)": {}, "SELECT 'it''s;'": {},
		"SELECT $x$ ; ) $x$":        {"", "the only parameter is $1"},
		"SELECT E'\\';'":            {"", "there are several statements"},
		"SELECT 'a\\' ; SELECT '1'": {"there are several statements", "there are several statements"},
		"SELECT [;]":                {"there are several statements", ""},
		"SELECT /* /* ; */ ; */ 1":  {"", "there are several statements"},
		"SELECT a ? 'b'":            {"", "the only parameter is $1"},
		"SELECT $2":                 {"the only parameter is $1", "the only parameter is $1"},
		"SELECT $10":                {"the only parameter is $1", "the only parameter is $1"},
		"SELECT 1) AS q, (SELECT 2": {"a parenthesis is closed", "a parenthesis is closed"},
		"SELECT (1":                 {"a parenthesis is not closed", "a parenthesis is not closed"},
		"SELECT 'a":                 {"does not end", "does not end"},
		"SELECT 1; DELETE FROM t":   {"several", "several"},
		"-- only\nDELETE FROM t":    {`not with "delete"`, `not with "delete"`},
		"EXPLAIN SELECT 1":          {`not with "explain"`, `not with "explain"`},
		"PRAGMA user_version":       {`not with "pragma"`, `not with "pragma"`},
		"":                          {`not with ""`, `not with ""`},
		"'select'":                  {"not with", "not with"},
		"SELECT \x00":               {"zero byte", "zero byte"},
	} {
		for sqlite, want := range map[bool]string{false: c.postgres, true: c.sqlite} {
			_, problem := parseStatement(text, sqlite)
			if (problem == "") != (want == "") || !strings.Contains(problem, want) {
				t.Errorf("%q (SQLite: %v): got %q, want %q", text, sqlite, problem, want)
			}
		}
	}
	s, _ := parseStatement("SELECT '$1', $1", true)
	if s.text != "SELECT '$1', ?1" || !s.parameter {
		t.Errorf("got %+v", s)
	}
}

// A declared server is sent what was declared, and nothing of the daemon's environment.
func TestNothingOfTheEnvironment(t *testing.T) {
	file, services := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "services")
	for path, text := range map[string]string{
		file: "*:*:*:*:hunter2\n", services: "[own]\npassword=hunter2\nhost=own.example\noptions=hunter2\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"PGPASSWORD": "hunter2", "PGPASSFILE": file, "PGUSER": "hunter2", "PGHOST": "own.example", "PGPORT": "1",
		"PGDATABASE": "hunter2", "PGOPTIONS": "hunter2", "PGAPPNAME": "hunter2", "PGSSLCERT": file, "PGSSLKEY": file,
		"PGTARGETSESSIONATTRS": "primary", "PGSSLMODE": "verify-full", "PGTZ": "hunter2", "PGSERVICEFILE": services,
		"PGSERVICE": "own",
	} {
		t.Setenv(name, value)
	}
	for _, password := range []string{"", "secret"} {
		u := &url.URL{Scheme: "postgres", User: url.UserPassword("me", password), Host: "db.example:77", Path: "/d"}
		c, err := parseConnection(u.String())
		if err != nil {
			t.Fatal(err)
		}
		p := newPostgres(&rowsConfig{Declared: defaults()}, c.to, nil)
		cfg, err := p.settings()
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Password != password || cfg.User != "me" || cfg.Host != "db.example" || cfg.Port != 77 ||
			cfg.Database != "d" || fmt.Sprint(cfg.RuntimeParams) != "map[application_name:graphd]" ||
			cfg.ValidateConnect != nil || cfg.TLSConfig != nil && len(cfg.TLSConfig.Certificates) > 0 {
			t.Errorf("got %+v", cfg)
		}
		for _, f := range cfg.Fallbacks {
			if f.Host != "db.example" || f.Port != 77 {
				t.Errorf("it falls back to %s:%d", f.Host, f.Port)
			}
		}
	}
}

func TestConnections(t *testing.T) {
	for text, ok := range map[string]bool{
		"postgres://me@h/d": true, "postgresql://me:p@h:1/d?sslmode=require": true, "sqlite:a.db": true,
		"postgres://h/d": false, "postgres://me@/d": false, "postgres://me@h": false, "postgres://me@h/": false,
		"postgres://me@h1,h2/d": false, "postgres:///d?host=/tmp": false, "postgres://me@h/d?passfile=/etc/x": false,
		"postgres://me@h/d?service=x": false, "postgres://me@h/d?host=other": false, "postgres://me:hunter2@[": false,
		"user=me password=hunter2": false, "sqlite:": false, "mysql://me@h/d": false, "postgres://me@%2Ftmp/d": false,
	} {
		_, err := parseConnection(text)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if a, b := databaseOf("postgres://a:b@h:1/d?sslmode=disable"), databaseOf("postgresql://c@h:1/d"); a != b {
		t.Errorf("%s is another database than %s", a, b)
	}
}
