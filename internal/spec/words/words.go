// Package words says in words what a declaration means, for people.
package words

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/lanes"
	"github.com/graphd/graphd/internal/spec/trait"
)

// ClockBy says in words what engine time goes by: whose times, for how long who is silent is waited
// for, and of which inputs it is arbitrary when their events happen.
func ClockBy(g *spec.Graph) string {
	if !g.EventClock() {
		return "the arrival of events"
	}
	var timed, arbitrary []string
	for i := range g.Accumulators {
		switch a := &g.Accumulators[i]; {
		case a.Fed() || a.Owner != "":
		case !a.Time.IsZero():
			timed = append(timed, a.Name)
		case a.Triggers(g.Reactor):
			arbitrary = append(arbitrary, a.Name)
		}
	}
	text := "the times of " + strings.Join(timed, ", ") + ", who is silent is waited for " +
		cmp.Or(g.Idle, spec.DefaultIdle).String()
	if len(arbitrary) > 0 {
		text += "; without a time, whenever they come: " + strings.Join(arbitrary, ", ")
	}
	return text
}

// WithoutTime are the reactor's words that go by time, and the windows, where no input says when its events happen, so
// that a run over files has to make their times up.
func WithoutTime(g *spec.Graph) (words []string) {
	if slices.ContainsFunc(g.Accumulators, func(a spec.Accumulator) bool { return !a.Time.IsZero() }) {
		return nil
	}
	r := g.Reactor
	for _, w := range [...]struct {
		name string
		of   time.Duration
	}{
		{"debounce", r.Debounce}, {"every", r.Every}, {"max_wait", r.MaxWait}, {"rate_limit", r.RateLimit},
		{"ttl", r.TTL},
	} {
		if w.of > 0 {
			words = append(words, w.name)
		}
	}
	if slices.ContainsFunc(g.Lanes, func(l spec.Lane) bool { return l.Kind == lanes.FixedRate }) {
		words = append(words, lanes.FixedRate)
	}
	for i := range g.Accumulators {
		if a := &g.Accumulators[i]; a.From == "" && a.Folding().Time == trait.MayBeTimed {
			words = append(words, "the "+a.Kind+" of "+a.Name)
		}
	}
	return words
}
