package daemon

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
)

// ask is the answer to a GET, whatever it is.
func (d *daemon) ask(path string) (status int, body string) {
	d.t.Helper()
	res, err := http.Get(d.base + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// M55: a daemon that runs while a newer release raises the store's schema warns of it, and goes on; when one raises
// the format beyond what it reads it is not ready, its graphs stand by and say why, and nothing of them is written; it
// goes on when the store is put back.
func TestM55RaisedWhileTheDaemonRuns(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	run := func(sql string) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	heads := func() (s string) {
		t.Helper()
		err := c.QueryRow(t.Context(), "SELECT string_agg(h::text, ' ') FROM graphd.graph_head h").Scan(&s)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	d := startDaemon(t, graphd.Config{Store: dsn, Declarations: map[string][]byte{"quotes.yaml": []byte(quotes)}})
	push := func(status int) { // a lease may be lost for a moment, and what is asked then is to be asked again
		t.Helper()
		d.until(fmt.Sprintf("a push is answered %d", status), func() bool {
			got, _ := d.send("POST", "/v1/graphs/quotes/accumulators/model/events", `{"fair":5}`)
			return got == status
		})
	}
	d.until("the graph is live", func() bool { return d.summary("quotes").Health == "live" })
	run("INSERT INTO graphd.schema_migration (version, name) VALUES (99, '0099_next.sql')")
	d.until("the daemon warns of it", func() bool {
		status, body := d.ask("/readyz")
		return status == 200 && strings.Contains(body, "schema_raised")
	})
	if _, body := d.ask("/metrics"); !strings.Contains(body, "\ngraphd_store_schema_ahead 9") &&
		!strings.Contains(body, "\ngraphd_store_schema_ahead 8") {
		t.Error("no metric tells of it")
	}
	push(200)
	// A release that raises the format changes the tables in the same transaction, and so what is on the way waits.
	run("BEGIN; LOCK TABLE graphd.graph_head; UPDATE graphd.store_format SET format = 9, readable_from = 9")
	before := heads()
	run("COMMIT")
	d.until("the daemon is not ready", func() bool {
		status, body := d.ask("/readyz")
		return status == 503 && strings.Contains(body, `"store_newer"`)
	})
	d.until("the graph stands by", func() bool {
		s := d.summary("quotes")
		return s.Health == "standby" && s.HealthReason != nil && s.HealthReason.Code == "store_newer" &&
			strings.Contains(s.HealthReason.Detail, "start the newer release in its place")
	})
	push(503)
	if _, body := d.ask("/metrics"); !strings.Contains(body, "\ngraphd_store_up 0") {
		t.Error("no metric tells that the store cannot be used")
	}
	if after := heads(); after != before {
		t.Errorf("it was written:\n%s\n%s", before, after)
	}
	run("UPDATE graphd.store_format SET format = 2, readable_from = 2")
	d.until("the graph is live again", func() bool { return d.summary("quotes").Health == "live" })
	push(200)
}
