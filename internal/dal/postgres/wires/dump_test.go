package wires

import "testing"

// TestDumpShowsNoPassword: the command that copies a database says where it is and who asks, and never the password,
// wherever the address has it.
func TestDumpShowsNoPassword(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://me:s3cret@db.internal:5433/prod?sslmode=verify-full": "PGSSLMODE=verify-full pg_dump -Fc -h " +
			"db.internal -p 5433 -U me -d prod -f d",
		"host=db port=5432 user='the owner' dbname=its password=s3cret sslmode=require": "PGSSLMODE=require pg_dump " +
			"-Fc -h db -p 5432 -U 'the owner' -d its -f d",
		"postgres://me@db/pro%27d?password=s3cret&sslmode=disable": `PGSSLMODE=disable pg_dump -Fc -h db -p 5432 ` +
			`-U me -d 'pro'\''d' -f d`,
	} {
		c, err := Parse(dsn)
		if err != nil {
			t.Fatalf("%s: %v", dsn, err)
		}
		if got := Dump(dsn, c.ConnConfig, "d"); got != want {
			t.Errorf("%s: got %s, want %s", dsn, got, want)
		}
	}
}
