package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// TestMigrateLooks: what --status and --dry-run say of a store that has all, lacks one, is not there yet or is a newer
// release's, and with which code they end; nothing of it is changed by that (M55).
func TestMigrateLooks(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	dir := t.TempDir()
	path := filepath.Join(dir, "graphd.db")
	if r := command(t.Context(), server, "", "migrate", "--data", dir); r.code != 0 {
		t.Fatalf("got %+v", r)
	}
	times := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	look := func(name string, args ...string) {
		t.Helper()
		before, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		args = append([]string{"migrate", "--data", dir}, args...)
		text := transcript(args, command(t.Context(), server, "", args...))
		golden(t, name, times.ReplaceAllString(strings.ReplaceAll(text, dir, "DIR"), "TIME"))
		after, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if string(after) != string(before) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	change := func(text string) {
		t.Helper()
		c, err := sqlconn.Open(path, "PRAGMA journal_mode = WAL")
		if err == nil {
			err = c.Script(text)
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	look("migrate_status_whole", "--status")
	look("migrate_dry_run_whole", "--dry-run")
	change("DROP TABLE audit_chain; DROP TABLE audit_entry; DELETE FROM schema_migration WHERE version >= 8")
	look("migrate_status", "--status")
	look("migrate_status_json", "--status", "-o", "json")
	look("migrate_dry_run", "--dry-run")
	look("migrate_both", "--dry-run", "--status")
	change("UPDATE store_format SET format = 9, readable_from = 8")
	look("migrate_status_newer", "--status")
	look("migrate_dry_run_newer", "--dry-run")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look("migrate_status_none", "--status")
	if left, err := filepath.Glob(path); err != nil || len(left) > 0 {
		t.Errorf("a look has made %v (%v)", left, err)
	}
}
