package spec_test

import (
	"testing"

	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/words"
)

// M26: what time goes by is told in words, with the inputs whose events happen whenever they come.
func TestM26ClockIsTold(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"accumulators: { a: {}, b: {} }":                                "the arrival of events",
		"accumulators: { a: { time: event.t }, b: {} }\nclock: arrival": "the arrival of events",
		"accumulators: { a: { time: event.t }, b: { time: event.t, passive: true }, c: { passive: true } }": "the " +
			"times of a, b, who is silent is waited for 10s",
		"accumulators: { a: { time: event.t }, b: {}, s: { from: n } }\nnodes: { n: { expr: a } }\nidle: 1m": "the " +
			"times of a, who is silent is waited for 1m0s; without a time, whenever they come: b",
	} {
		g, diags := parse([]byte("graph: g\n"+doc+"\n"), spec.Options{})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		if got := words.ClockBy(g); got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}
