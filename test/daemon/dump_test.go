package daemon

import (
	"net/url"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
)

// TestBackupOfPostgresNamesTheWay: a backup of a store without a file is refused with the command that makes one, and
// without the password of the address.
func TestBackupOfPostgresNamesTheWay(t *testing.T) {
	t.Parallel()
	dsn, err := url.Parse(testbed.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	dsn.User = url.UserPassword(dsn.User.Username(), "s3cretpassword")
	d := startDaemon(t, graphd.Config{Store: dsn.String()})
	var refusal struct{ Code, Detail string }
	d.do("POST", "/v1/backup", "", 409, &refusal)
	want := "pg_dump -Fc -h " + dsn.Hostname() + " -p " + dsn.Port() + " -U " + dsn.User.Username() + " -d " +
		strings.TrimPrefix(dsn.Path, "/") + " -f graphd.dump"
	if refusal.Code != "cannot_backup" || !strings.Contains(refusal.Detail, want) ||
		strings.Contains(refusal.Detail, "s3cret") {
		t.Errorf("got %+v, want the command %s", refusal, want)
	}
}
