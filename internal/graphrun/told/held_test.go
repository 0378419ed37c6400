package told

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/live"
)

// M26: health names the input that the others wait for, when that lasts, and only where it has nothing else to say.
func TestHeldBackIsAReason(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		by    string
		since time.Duration
		other *api.Reason
		want  string
	}{
		{"quotes", heldLong - time.Second, nil, ""},
		{"quotes", heldLong, nil, "held_back: the others have waited for quotes since 2026-11-22T09:59:50Z"},
		{"", time.Hour, nil, ""},
		{"quotes", time.Hour, &api.Reason{Code: "input_full", Detail: "x"}, "input_full: x"},
	} {
		s := api.GraphSummary{HealthReason: test.other}
		held(&s, &live.View{HeldBackBy: test.by, HeldSince: now.Add(-test.since)}, now)
		got := ""
		if s.HealthReason != nil {
			got = s.HealthReason.Code + ": " + s.HealthReason.Detail
		}
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// The gaps of a source come in the order of its streams.
func TestGapsAreSorted(t *testing.T) {
	t.Parallel()
	var gaps []accumulator.Gap
	for _, stream := range []string{"orders/10#x", "trades/0", "orders/2", "a/b", "orders/1#y"} {
		gaps = append(gaps, accumulator.Gap{From: boundary.Position{Stream: stream}})
	}
	var got []string
	for _, g := range Gaps(gaps) {
		got = append(got, g.Stream)
	}
	if strings.Join(got, " ") != "a/b orders/1 orders/2 orders/10 trades/0" {
		t.Error(got)
	}
}
