package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/outbound"
)

// A3: a connection of another kind than is needed, or of a name that there is not, is refused with its place and with
// who can help.
func TestA3ConnectionsOfTheWrongKind(t *testing.T) {
	t.Parallel()
	k := &builtin.Kinds{Reach: builtin.Reach{Connections: outbound.Named{
		"events": "kafka://broker.internal:9092", "shop": "postgresql://u:hunter2@db.internal/shop", "store": "store",
	}}}
	poll := "{ a: { source: { poll: { sql: 'select 1 as x', key: x, every: 1s, connection: %s } } } }\n"
	kafka := "{ a: { source: { kafka: { topic: t, connection: %s } } } }\n"
	out := "outputs: { o: { from: a, sink: { %s } } }\n"
	for doc, want := range map[string]string{
		fmt.Sprintf(poll, "events"):  `2:32 bad_value the accumulator a takes a connection to a Postgres database`,
		fmt.Sprintf(kafka, "shop"):   "2:32 bad_value the accumulator a takes a connection to a Kafka cluster",
		fmt.Sprintf(kafka, "store"):  "(there is events)",
		fmt.Sprintf(kafka, "none"):   "unknown_name",
		fmt.Sprintf(poll, "missing"): "ask the operator of the daemon",
		"{ a: {} }\n" + fmt.Sprintf(out, "postgres: { table: t, connection: events }"): "(there is shop, store)",
		"{ a: {} }\n" + fmt.Sprintf(out, "kafka: { topic: t, connection: shop }"):      "3:34 bad_value",
		fmt.Sprintf(poll, "shop"):    "",
		fmt.Sprintf(kafka, "events"): "",
	} {
		if !strings.Contains(doc, "outputs") {
			doc += fmt.Sprintf(out, "drop: {}")
		}
		_, diags := k.Parse([]byte("graph: g\naccumulators: "+doc), "")
		said := []string{}
		for _, d := range diags {
			said = append(said, fmt.Sprintf("%d:%d %s %s", d.Line, d.Column, d.Code, d.Text))
		}
		text := strings.Join(said, "; ")
		if (want == "") != (text == "") || !strings.Contains(text, want) || strings.Contains(text, ".internal") {
			t.Errorf("%s: %s, want %s", doc, text, want)
		}
	}
}
