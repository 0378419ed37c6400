package builtin_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// What people write for something else is told with what to write.
func TestWhatWasMeant(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{ a: {} }
nodes: { n: { http: { url: "http://h.example/{a.id}", query: { q: a } } } }`: "path or query",
		"{ a: { source: { follow: { graph: up, output: o } } } }\nnodes: { n: { expr: a } }": `"graph"`,
		"{ a: {}, b: {}, j: { join: { left: a, right: b, on: x } } }\n" +
			"nodes: { n: { expr: a } }": "within or the field tumbling",
		"{ a: { time: event.at }, b: { time: event.at }, " +
			"j: { join: { left: a, right: b, on: x, within: 5, type: outer } } }\n" +
			"nodes: { n: { expr: j } }": "(5s); expected one of inner, left, right, " +
			"full, found the text \"outer\" (full)",
	} {
		k := &builtin.Kinds{}
		text := "graph: g\naccumulators: " + doc + "\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
		_, diags := k.Parse([]byte(text), "")
		said := ""
		for _, d := range diags {
			said += d.Text + " (" + d.Suggest + "); "
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", doc, said, want)
		}
	}
}
