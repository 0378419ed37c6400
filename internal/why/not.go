package why

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// The codes of what stands in the way now. Where the health of a graph has a reason, that is the code.
const (
	CodePaused       = "paused"
	CodeKeyUnknown   = "key_unknown"
	CodeGuardWaits   = "guard_waits"
	CodeWaitsFor     = "waits_for_input"
	CodeTimer        = "waits_for_timer"
	CodeHeldBack     = "held_back"
	CodeAnswer       = "waits_for_answer"
	CodeBreaker      = "breaker_open"
	CodeSink         = "sink_blocks"
	CodeOutputStops  = "output_stopped"
	CodeInputIll     = "input_unhealthy"
	CodeInputStops   = "input_stopped"
	CodeInputSilent  = "input_silent"
	CodeOpen         = "window_open"
	CodeCommit       = "waits_for_commit"
	CodeKeysWait     = "keys_wait"
	CodeNothingNew   = "nothing_new"
	CodeRejected     = "rejected"
	CodeDeadLettered = "dead_lettered"
	healthCode       = "graph_" // then the health
	codeSlowed       = "limit_slowed"
	staleCode        = "stale" // of a graph one of whose outputs has given nothing for too long
)

// Not says why nothing comes: of how the graph stands, and of what its shards have seen.
func (p *Picture) Not(q *api.WhyNotQuery, key string, now time.Time, sum *api.GraphSummary, all []Seen) api.WhyNot {
	w := api.WhyNot{Graph: p.name, Key: orNull(json.RawMessage(key)), Output: q.Output, At: now,
		Epochs:  []api.Because{},
		Refused: []api.Because{}, Counts: map[string]int64{}}
	n := &asked{p: p, sum: sum, output: q.Output, key: key, rests: p.of(q.Output)}
	fires := sum.Health == "live" || sum.Health == "degraded"
	if !fires {
		n.health()
	}
	n.steered()
	n.outputs(func(mine, full bool) bool { return mine || full })
	n.calls()
	n.slowed(all)
	for i := range all {
		n.standing(&all[i])
	}
	n.inputs()
	for i := range all {
		n.opened(&all[i])
	}
	others := fires && n.ofOthers()
	if fires && !others {
		n.health() // what it says of itself is of something that has been told of, as a rule
	}
	for i := range all {
		s := &all[i]
		w.Epochs, w.Looked = append(w.Epochs, s.Epochs...), w.Looked+s.Looked
		w.Refused = append(w.Refused, s.Refused...)
		for code, k := range s.Counts {
			w.Counts[code] += k
		}
	}
	slices.SortStableFunc(w.Epochs, func(a, b api.Because) int { return cmp.Compare(b.Epochs, a.Epochs) })
	slices.SortStableFunc(w.Refused, func(a, b api.Because) int { return b.At.Compare(*a.At) })
	w.Refused = w.Refused[:min(len(w.Refused), maxRefused)]
	n.books(&w, all)
	n.nothing(all, &w)
	w.Now = n.list
	w.Sentence = sentenceNot(&w)
	if others {
		n.health()
	}
	n.outputs(func(mine, full bool) bool { return !mine && !full }) // which hold nothing up yet
	w.Now = n.list
	return w
}

// maxRefused bounds the sample of an answer.
const maxRefused = 256

// asked collects what stands in the way of what is asked for.
type asked struct {
	p           *Picture
	sum         *api.GraphSummary
	output, key string
	rests       []string // the inputs that matter; nil are all
	list        []api.Because
}

func (n *asked) add(b api.Because) { n.list = append(n.list, b) }

func (n *asked) matters(input string) bool { return n.rests == nil || slices.Contains(n.rests, input) }

// health is what the graph says of itself.
func (n *asked) health() {
	s, name := n.sum, n.p.name
	if s.HealthReason != nil && s.HealthReason.Code == staleCode {
		return // that is what is asked about
	}
	if s.HealthReason != nil || s.Health != "live" && s.Health != "degraded" {
		b := api.Because{Code: healthCode + s.Health, Detail: "the graph is " + s.Health,
			Do: "graphd describe " + name + " says more"}
		if r := s.HealthReason; r != nil && r.Code != "" {
			b.Code, b.Do = r.Code, "graphd explain "+r.Code+" says what to do"
			b.Detail += ": " + r.Detail
		}
		if len(s.WaitingFor) > 0 && s.Health == "warming" {
			b.Detail += "; it waits for " + list(s.WaitingFor, "and")
		}
		n.add(b)
	}
}

// steered are what somebody wants, and what time does.
func (n *asked) steered() {
	s, name := n.sum, n.p.name
	if s.Paused {
		b := api.Because{Code: CodePaused, Detail: "the graph is paused", Do: "graphd resume " + name}
		if s.PausedBy != "" {
			b.Detail += " by " + s.PausedBy
		}
		b.Detail += ": what comes waits until somebody resumes it"
		n.add(b)
	}
	if s.HeldBackBy != "" {
		n.add(api.Because{Code: CodeHeldBack, Detail: "the other inputs wait for " + s.HeldBackBy +
			", which is behind in the time of events: they are taken in the order of their times",
			Do: "see to its source; a source that is silent for idle is waited for no more", At: s.EngineTime})
	}
}

// calls are the nodes that wait for somebody else.
func (n *asked) calls() {
	for i := range n.sum.Calls {
		c := &n.sum.Calls[i]
		switch {
		case c.BreakerOpen:
			b := api.Because{Code: CodeBreaker, Node: c.Node, Detail: "node " + c.Node + " calls nobody for a " +
				"while, since the last tries have failed", Do: "see to the server that it calls"}
			if c.Error != "" {
				b.Detail += ": " + c.Error
			}
			n.add(b)
		case c.AwaitedSince != nil:
			n.add(api.Because{Code: CodeAnswer, Node: c.Node, At: c.AwaitedSince, Detail: fmt.Sprintf("the next "+
				"epoch waits "+
				"for an answer to node %s: %s on the way, %d that wait to begin", c.Node, plural(int64(c.Out), "call"),
				c.Waiting),
				Do: "see to the server that it calls, or give the node a shorter timeout"})
		}
	}
}

// standing is how far the key, or the graph, is from its next epoch.
func (n *asked) standing(s *Seen) {
	st := s.Standing
	if st == nil {
		return
	}
	who := "the graph"
	if n.key != "" {
		who = "key " + n.key
	}
	if !st.Known {
		n.add(api.Because{Code: CodeKeyUnknown, Shard: s.Shard, Key: json.RawMessage(n.key),
			Detail: "the graph has nothing for " + who + ": nothing has arrived for it, or it was evicted",
			Do:     "see whether its events come, and are not kept back; a longer ttl or more max_keys keep it"})
		return
	}
	if len(st.Guard) > 0 {
		n.add(api.Because{Code: CodeGuardWaits, Shard: s.Shard, Input: st.Guard[0],
			Detail: fmt.Sprintf("the guard of %s waits for %s, of which nothing has arrived", who,
				list(st.Guard, "and")),
			Do: "see to who sends it, or let the guard do without (?? and == nil)"})
	}
	if len(st.Missing) > 0 && !st.Ready {
		b := api.Because{Code: CodeWaitsFor, Shard: s.Shard, Input: st.Missing[0],
			Detail: fmt.Sprintf("%s waits for %s: when: all takes something new of each", who, list(st.Missing, "and")),
			Do:     "see to who sends it; max_wait fires with what is there, when: any with each of them"}
		if len(st.News) > 0 {
			b.Detail += "; " + list(st.News, "and") + " has come"
		}
		if !st.MaxWait.IsZero() {
			b.Until, b.Detail = &st.MaxWait, b.Detail+"; max_wait fires with what is there"
		}
		n.add(b)
	}
	if !st.Due.IsZero() {
		n.add(api.Because{Code: CodeTimer, Shard: s.Shard, Until: &st.Due,
			Detail: fmt.Sprintf("%s has something to fire on, and waits for %s", who, st.By)})
	}
}

// inputs are those that are ill, stopped, or have never had anything.
func (n *asked) inputs() {
	for i := range n.sum.Accumulators {
		a := &n.sum.Accumulators[i]
		if !n.matters(a.Name) {
			continue
		}
		switch healthy := a.Health == "live" || a.Health == "socket_only" || a.Health == "ended"; {
		case a.Stopped != nil:
			n.add(api.Because{Code: CodeInputStops, Input: a.Name, At: &a.Stopped.Since,
				Detail: a.Stopped.By + " has stopped input " + a.Name + " alone",
				Do:     fmt.Sprintf("graphd start %s %s", n.p.name, a.Name)})
		case !healthy:
			b := api.Because{Code: CodeInputIll, Input: a.Name, Detail: "input " + a.Name + " is " + a.Health,
				Do: "graphd describe " + n.p.name + " says more"}
			if r := a.HealthReason; r != nil {
				b.Detail += ": " + strings.TrimSpace(r.Code+" "+r.Detail)
			}
			n.add(b)
		case a.Counters.Received == 0 && a.Source != "node" && a.Source != "join" && !n.p.hasDefault(a.Name):
			n.add(api.Because{Code: CodeInputSilent, Input: a.Name, Detail: "nothing has ever come to input " + a.Name,
				Do: "see to who sends it"})
		}
	}
}

// opened are windows and batches that are not complete.
func (n *asked) opened(s *Seen) {
	for i := range s.Opened {
		o := &s.Opened[i]
		if !n.matters(o.Input) {
			continue
		}
		b := api.Because{Code: CodeOpen, Shard: s.Shard, Input: o.Input, Events: o.Events,
			Detail: fmt.Sprintf("input %s holds %s until what it belongs to is complete", o.Input,
				plural(o.Events, "event"))}
		if !o.Until.IsZero() {
			b.Detail += ": the first window ends at " + o.Until.Format(time.RFC3339Nano)
		}
		if !o.Watermark.IsZero() {
			held := "pushes"
			if o.HeldBy != "" {
				held = "partition " + o.HeldBy
			}
			b.Detail += fmt.Sprintf("; the watermark is at %s and goes by %s, whose newest event is of %s",
				o.Watermark.Format(time.RFC3339Nano), held, o.Newest.Format(time.RFC3339Nano))
			b.Do = "a window is complete when the watermark has passed its end: send newer events, or give idle"
		}
		n.add(b)
	}
}

// justNow is how long after an event it is not said that none has come since.
const justNow = 2 * time.Second

// nothing says that nothing stands in the way, of what was taken in. What has come last, and to nothing, is told with
// it: that the rest was taken is no answer to why nothing comes.
func (n *asked) nothing(all []Seen, w *api.WhyNot) {
	if k := n.sum.Keys; k != nil && n.key == "" && k.Waiting > 0 {
		n.add(api.Because{Code: CodeKeysWait, Events: int64(k.Waiting), Detail: "waiting in keys: " +
			plural(int64(k.Waiting), "boundary") +
			", for a counterpart, a guard or a timer", Do: "ask again with --key"})
	}
	if slices.ContainsFunc(n.list, func(b api.Because) bool { return n.key == "" || b.Code != CodeOpen }) {
		return
	}
	b := api.Because{Code: CodeNothingNew, Detail: "nothing stands in the way: all that has come was taken"}
	if w.Counts[CodeRejected] > 0 {
		b.Detail = "nothing stands in the way of what was let in: all of it was taken"
	}
	var newest *Seen
	for i := range all {
		if s := &all[i]; s.Looked > 0 && (newest == nil || s.Fired.After(newest.Fired)) {
			newest = s
		}
	}
	switch {
	case newest == nil:
		b.Detail += ", and no epoch has run"
	case newest.Gave && n.output != "":
		b.Detail += fmt.Sprintf("; output %s gave a value in the newest epoch, %d", n.output, newest.Newest)
	case newest.Gave:
		b.Detail += fmt.Sprintf("; the newest epoch, %d, gave values", newest.Newest)
	default:
		b.Detail += fmt.Sprintf("; the newest epoch is %d", newest.Newest)
	}
	for i := range n.sum.Accumulators {
		a := &n.sum.Accumulators[i]
		switch {
		case !n.matters(a.Name) || a.From != "" || a.LastEventAt == nil:
		case w.At.Sub(*a.LastEventAt) < justNow:
			b.Detail += "; events have come to " + a.Name + " just now"
		default:
			b.Detail += fmt.Sprintf("; nothing has come to %s since %s", a.Name, a.LastEventAt.Format(time.RFC3339))
		}
	}
	if newest != nil {
		b.Epoch, b.At = newest.Newest, &newest.Fired
	}
	if last := lastRefused(w, &b); last != nil {
		b.Detail = "nothing waits, for what has come last has come to nothing: " + last.Detail
		b.Do = last.Do
	} else if most := n.limit(); most != "" {
		b.Detail += "; where " + most + ", the rest waits, and pushes are refused"
	} else if i := slices.IndexFunc(w.Refused, rejected); newest == nil && i >= 0 {
		b.Detail, b.Do = w.Refused[i].Detail+"; "+b.Detail, w.Refused[i].Do
	}
	n.add(b)
}

func rejected(b api.Because) bool { return b.Code == CodeRejected }

// lastRefused is the sample of what has come to nothing since the newest epoch, which b has; nil for none. Of a key it
// is one that is known to be the key's: events have no key before they are folded.
func lastRefused(w *api.WhyNot, b *api.Because) *api.Because {
	keyed := !isNull(w.Key)
	for i := range w.Refused {
		r := &w.Refused[i]
		if r.At == nil || b.At != nil && r.At.Before(*b.At) {
			return nil
		}
		if !keyed || len(r.Key) > 0 {
			return r
		}
	}
	return nil
}

// sentenceNot is the reason that matters most: what stands in the way now, else what happened last. Of a key it is one
// that is known to be the key's, or is of all: events have no key before they are folded.
func sentenceNot(w *api.WhyNot) string {
	keyed := !isNull(w.Key)
	var first *api.Because
	for i := range w.Now {
		switch b := &w.Now[i]; {
		case keyed && b.Code == CodeOpen:
		case b.Code != CodeNothingNew && b.Code != CodeInputSilent:
			return b.Detail
		case first == nil:
			first = b
		}
	}
	if last := lastRefused(w, first); last != nil {
		return last.Detail
	}
	for i := range w.Epochs {
		if first.Code == CodeNothingNew && w.Epochs[i].Epoch == first.Epoch {
			return w.Epochs[i].Detail
		}
	}
	return first.Detail
}
