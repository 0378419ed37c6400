package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/shard"
)

// tellLeft says of input i what of its queued events nobody would expect there at the end of all inputs; waitingFor are
// the inputs that hold epochs up, where that is known. It is silent of what is meant: a run that leaves all as it is,
// a newest value that no epoch has asked for, a window of so many events that is not full, and what ticks feed.
func (r *runner) tellLeft(i int, queued int64, left shard.Left, waitingFor []string) {
	a := &r.cfg.Unit.Spec.Accumulators[i]
	if queued == 0 || r.cfg.NoFlush || r.err != nil {
		return
	}
	var lines []string
	if n := left.Overdue; n > 0 {
		r.stats.Overdue += n
		lines = append(lines, fmt.Sprintf("%s open in %s at the end, though time should have completed what they are "+
			"in: no epoch had them. That is a mistake of graphd: please report it with the declaration",
			events(n, "is", "are"), a.Name))
	}
	if n := queued - left.Open; n > 0 && a.Strategy == "sequential" {
		lines = append(lines, r.waiting(a.Name, n, waitingFor))
	}
	for _, text := range lines {
		r.stats.Left += text + "\n"
	}
}

// waiting says what n events of a sequential input have waited for in vain.
func (r *runner) waiting(name string, n int64, waitingFor []string) string {
	text := fmt.Sprintf("%s left of %s that no epoch took", events(n, "is", "are"), name)
	others := slices.DeleteFunc(slices.Clone(waitingFor), func(other string) bool { return other == name })
	switch reactor := r.cfg.Unit.Spec.Reactor; {
	case len(others) > 0 && reactor.When != "all":
		return fmt.Sprintf("%s: the guard waits for %s; give it events, or let the guard do without (?? and == nil)",
			text, strings.Join(others, " and "))
	case len(others) > 0:
		return fmt.Sprintf("%s: nothing more has come of %s, and an epoch takes one of each; give it as many "+
			"events, or the reactor a max_wait", text, strings.Join(others, " and "))
	case reactor.When == "all":
		return text + ": an epoch takes one of each input, and not all have come; give the reactor a max_wait to " +
			"go on without"
	}
	return text + ": what they wait for has not come"
}

// events are n events as a subject.
func events(n int64, is, are string) string {
	if n == 1 {
		return "1 event " + is
	}
	return fmt.Sprintf("%d events %s", n, are)
}
