package graphd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/audit"
)

const audited = "graph: NAME\naccumulators: { a: { source: { websocket: {} } } }\nnodes: { b: { expr: a } }\n" +
	"outputs: { o: { from: b, sink: { drop: {} } } }\n"

// TestOwnChangesAreAudited: what the operator's folder, the program and its library apply is written down (A13).
func TestOwnChangesAreAudited(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "one.yaml"), []byte(strings.Replace(audited, "NAME", "one", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	d, err := New(t.Context(), Config{Store: "memory:", Listen: "127.0.0.1:0", Data: t.TempDir(), Graphs: folder,
		Declarations: map[string][]byte{"two": []byte(strings.Replace(audited, "NAME", "two", 1))}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-d.Ready()
	if err := d.Apply(t.Context(), []byte(strings.Replace(audited, "NAME", "three", 1))); err != nil {
		t.Error(err)
	}
	rows, err := d.store.AuditRows(t.Context(), audit.Query{Tenant: "default"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range rows {
		e, err := rows[i].Entry()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{e.Subject, string(e.Kind), e.Operation, e.Graph, e.Outcome}, " "))
	}
	const want = "Config.Declarations intent apply two |Config.Declarations result apply two ok|" +
		"--graphs intent apply one |--graphs result apply one ok|" +
		"graphd intent apply three |graphd result apply three ok"
	if strings.Join(got, "|") != want {
		t.Errorf("the audit has %q", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestBootstrapIsAudited: the first token, made past a daemon, is in the chain of no tenant.
func TestBootstrapIsAudited(t *testing.T) {
	t.Parallel()
	c := Config{Data: t.TempDir()}
	text, err := Bootstrap(t.Context(), c, "admin", "a test")
	if err != nil {
		t.Fatal(err)
	}
	c.setDefaults()
	store, err := openStore(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rows, err := store.AuditRows(t.Context(), audit.Query{Tenant: audit.Daemon, Since: time.Now().Add(-time.Minute)})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d entries, %v", len(rows), err)
	}
	for i := range rows {
		if body := string(rows[i].Body); !strings.Contains(body, `"subject":"a test"`) || strings.Contains(body, text) {
			t.Errorf("got %s", body)
		}
	}
}
