package why

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/api"
)

// books are events that were refused with a word to somebody.
func (n *asked) books(w *api.WhyNot, all []Seen) {
	for i := range n.sum.Accumulators {
		a := &n.sum.Accumulators[i]
		if !n.matters(a.Name) {
			continue
		}
		c := &a.Counters
		answer, codes := "the answer to a push says why", rejectedBy(all, a.Name)
		if most := n.limit(); most != "" {
			answer += ", as limit_exceeded where " + most
		}
		for _, of := range []struct {
			code     string
			n        int64
			what, do string
		}{
			{CodeRejected, c.Rejected, "input %s has refused %s, and told who pushed" + codes, answer},
			{CodeDeadLettered, c.DeadLettered, "input %s has made dead letters of %s", "graphd dead-letters " +
				n.p.name},
		} {
			if of.n > 0 {
				w.Counts[of.code] += of.n
				w.Refused = append(w.Refused, api.Because{Code: of.code, Input: a.Name, Events: of.n, Do: of.do,
					Detail: fmt.Sprintf(of.what, a.Name, plural(of.n, "event"))})
			}
		}
	}
}

// rejectedBy are the codes that events of an input were refused for in this run of the daemons, in words: what was
// refused before is in the books alone.
func rejectedBy(all []Seen, input string) string {
	codes := map[string]int64{}
	for i := range all {
		for code, k := range all[i].Rejected[input] {
			codes[code] += k
		}
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		parts = append(parts, fmt.Sprintf("%d as %s", codes[code], code))
	}
	if parts == nil {
		return ""
	}
	return ": " + list(parts, "and")
}

// slowed are events that wait for the graph's own limit: health tells of it once that has lasted.
func (n *asked) slowed(all []Seen) {
	most := n.limit()
	if most == "" || n.sum.HealthReason != nil && n.sum.HealthReason.Code == codeSlowed ||
		!slices.ContainsFunc(all, func(s Seen) bool { return s.Slowed }) {
		return
	}
	n.add(api.Because{Code: codeSlowed, Detail: "events wait for their turn: " + most,
		Do: "nothing that waits is lost: raise the limit, or send less"})
}

// limit is the graph's own limit of events in words, "" for none.
func (n *asked) limit() string {
	if most := n.p.spec.Limits.EventsPerSecond; most > 0 {
		return fmt.Sprintf("more come than limits.events_per_second lets in, %d", most)
	}
	return ""
}
