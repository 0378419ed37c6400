package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/sink/postgres"
	"github.com/graphd/graphd/internal/spec"
)

func postgresGraph(t *testing.T, sink, secret string) *spec.Graph {
	t.Helper()
	g, diags := parse(
		fmt.Appendf(nil, "graph: g\naccumulators: { a: {} }\noutputs:\n  o: { from: a, sink: { postgres: %s } }\n",
			sink),
		spec.Options{Resolve: func(string) (string, bool, error) { return secret, true, nil }})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return g
}

func TestPostgresSink(t *testing.T) {
	t.Parallel()
	p := postgresGraph(t, `{ table: desk.trades, columns: [id, "Odd name"], mode: upsert, conflict: [id] }`,
		"").Outputs[0].Sink.Config.(postgres.Declared)
	if p.Table != "desk.trades" || p.Mode != "upsert" || !slices.Equal(p.Columns, []string{"id", "Odd name"}) ||
		!slices.Equal(p.Conflict, []string{"id"}) {
		t.Errorf("%+v", p)
	}
	if p := postgresGraph(t, "{ table: t }", "").Outputs[0].Sink.Config.(postgres.Declared); p.Mode != "insert" ||
		p.Columns != nil || p.DSN != "" {
		t.Errorf("defaults: %+v", p)
	}
}

// An address is in no difference, whether it stands in the document or is referred to; a
// secret that is renewed behind a reference is no change.
func TestPostgresAddressIsHidden(t *testing.T) {
	t.Parallel()
	one := postgresGraph(t, `{ table: t, dsn: "postgres://u:hunter1@h/d" }`, "")
	two := postgresGraph(t, `{ table: t, dsn: "postgres://u:hunter2@h/d" }`, "")
	if diff := spec.Diff(one, two); len(diff) != 1 || strings.Contains(fmt.Sprint(diff), "hunter") ||
		one.Hash == two.Hash {
		t.Errorf("diff %v", diff)
	}
	three, four := postgresGraph(t, `{ table: t, dsn: "${DSN}" }`, "postgres://u:hunter3@h/d"),
		postgresGraph(t, `{ table: t, dsn: "${DSN}" }`, "postgres://u:hunter4@h/d")
	if diff := spec.Diff(three, four); len(diff) != 0 || three.Hash != four.Hash {
		t.Errorf("diff %v", diff)
	}
	if diff := spec.Diff(two, three); len(diff) != 1 || strings.Contains(fmt.Sprint(diff), "hunter") {
		t.Errorf("diff %v", diff)
	}
}
