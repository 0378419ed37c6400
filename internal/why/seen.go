package why

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/refused"
)

// Seen is what one shard knows of why nothing comes.
type Seen struct {
	Shard int `json:"shard"`
	// Key is the one that was asked for, as the graph has it; "" for none.
	Key string `json:"key,omitempty"`
	// Running says that its reactor was asked; else only Epochs are there, of the store.
	Running bool `json:"running"`
	// Standing is nil in a graph with keys where none is asked for.
	Standing *reactor.Standing `json:"standing,omitempty"`
	Opened   []reactor.Opened  `json:"opened,omitempty"`
	Refused  []api.Because     `json:"refused,omitempty"`
	Counts   map[string]int64  `json:"counts,omitempty"`
	Epochs   []api.Because     `json:"epochs,omitempty"`
	Looked   int               `json:"looked"`
	// Rejected are the events that pushes were refused at a daemon, by input and code, and Slowed says that events wait
	// there for the graph's own limit.
	Rejected map[string]map[string]int64 `json:"rejected,omitempty"`
	Slowed   bool                        `json:"slowed,omitempty"`
	// Newest is the newest epoch that was looked at, 0 for none, Fired when it was, and Gave whether the output that is
	// asked for, or any, gave something.
	Newest int64     `json:"newest"`
	Fired  time.Time `json:"fired"`
	Gave   bool      `json:"gave"`
}

// Glance is what a reactor says of itself. It is taken on the reactor's goroutine, and put into words elsewhere.
type Glance struct {
	standing *reactor.Standing
	opened   []reactor.Opened
	entries  []refused.Entry
	counts   *[refused.Reasons]int64
}

// Take takes a glance at a core: of a key, or with "" of all; what is before since is left out.
func Take(c *reactor.Core, key boundary.Key, since time.Time) (g Glance) {
	if key != "" || !c.Keyed() {
		s := c.Stand(key)
		g.standing = &s
	}
	g.opened = c.Opened()
	g.counts = c.Refused(func(e *refused.Entry) bool {
		if e.At.Before(since) {
			return false
		}
		if key == "" || e.Key == "" || e.Key == key {
			g.entries = append(g.entries, *e)
		}
		return true
	})
	return g
}

// See puts a glance into words.
func (p *Picture) See(s *Seen, g *Glance, output string) {
	s.Running, s.Standing, s.Opened = true, g.standing, g.opened
	rests := p.of(output)
	for i := range g.entries {
		if e := &g.entries[i]; rests == nil || e.Input == "" || slices.Contains(rests, e.Input) {
			s.Refused = append(s.Refused, p.entry(e, s.Shard))
		}
	}
	if g.counts == nil {
		return
	}
	s.Counts = map[string]int64{}
	for i, n := range g.counts {
		if n > 0 {
			s.Counts[refused.Reason(i).String()] = n
		}
	}
}

// of are the inputs that matter to an output; nil are all.
func (p *Picture) of(output string) []string {
	o := p.outputs[output]
	if o == nil || p.nodes[o.From] == nil && p.accumulator(o.From) == nil { // from the reactor: of what it takes of all
		return nil
	}
	inputs := p.roots(o.From, map[string]bool{})
	if p.spec.Reactor.When == "all" { // no epoch runs before each has something
		inputs = append(inputs, p.triggers()...)
	}
	for _, name := range p.guard {
		if a := p.accumulator(name); a != nil {
			inputs = append(inputs, name)
		}
	}
	for k := 0; k < len(inputs); k++ { // what an input comes of
		a := p.accumulator(inputs[k])
		if a == nil {
			continue
		}
		behind := []string{a.Owner}
		if a.From != "" {
			behind = p.roots(a.From, map[string]bool{})
		}
		if a.Joins() {
			names := a.Folding().Joins.Names
			behind = append(behind, names[:]...)
		}
		for _, name := range behind {
			if name != "" && !slices.Contains(inputs, name) {
				inputs = append(inputs, name)
			}
		}
	}
	return inputs
}

// Silent says of the newest epochs, newest first, why they gave nothing: to an output, or where none is named to any.
func (p *Picture) Silent(s *Seen, records []api.FiringDetail, output string, since time.Time) {
	names := []string{output}
	if output == "" {
		names = slices.Sorted(maps.Keys(p.outputs))
	}
	type place struct{ code, node, input, output string }
	found := map[place]*api.Because{}
	for i := range records {
		f := &records[i]
		if f.At.Before(since) && !p.spec.EventClock() { // engine time is the events' there, and not since's
			break
		}
		if s.Looked++; s.Looked == 1 {
			s.Newest, s.Fired = f.Epoch, f.At
			_, gave := f.Outputs[output]
			s.Gave = gave || output == "" && len(f.Outputs) > 0
		}
		for _, name := range names {
			if !p.fits(f, name) {
				continue
			}
			b := p.output(f, name)
			if b == nil {
				continue
			}
			at := place{b.Code, b.Node, b.Input, b.Output}
			if have := found[at]; have != nil {
				have.Epochs++
				continue
			}
			when := f.At
			b.Epochs, b.Epoch, b.At, b.Shard = 1, f.Epoch, &when, s.Shard
			if !isNull(f.Key) {
				b.Key = f.Key
			}
			found[at] = b
			s.Epochs = append(s.Epochs, *b)
		}
	}
	for i := range s.Epochs {
		b := &s.Epochs[i]
		b.Epochs = found[place{b.Code, b.Node, b.Input, b.Output}].Epochs
	}
	slices.SortStableFunc(s.Epochs, func(a, b api.Because) int { return cmp.Compare(b.Epochs, a.Epochs) })
}

// What to do about what has come to nothing.
var refusedDo = [refused.Reasons]string{
	refused.Where: "look at the where of the input, and at the event",
	refused.Late: "raise lateness, which is how far events may come out of order, or say what is to become of late " +
		"ones with late",
	refused.Guard: "compare what it read with the guard; 'graphd fire GRAPH' fires whatever it says",
	refused.Conflated: "where every value matters and not only the newest, say strategy: sequential, or burst, of " +
		"the input",
	refused.Evicted: "a longer ttl or more max_keys",
	refused.Full:    "see why the other half does not come; raise max_waiting, or give max_wait",
}

// entry puts into words what has come to nothing.
func (p *Picture) entry(e *refused.Entry, shard int) api.Because {
	at := e.At
	b := api.Because{Code: e.Reason.String(), Shard: shard, Input: e.Input, At: &at, Events: e.Events, Values: e.Values,
		Do: strings.Replace(refusedDo[e.Reason], "GRAPH", p.name, 1)}
	if e.Key != "" {
		b.Key = json.RawMessage(e.Key)
	}
	if !e.Position.IsZero() {
		b.Position = e.Position.String()
	}
	switch e.Reason {
	case refused.Where:
		b.Detail = "the where of input " + e.Input + " was false of an event: " + p.accumulatorWhere(e.Input)
	case refused.Late:
		b.Detail = "an event of " + e.Input + " came too late" + lateFate[e.Code] + ": " + e.Detail
	case refused.Guard:
		b.Detail = "the guard was false: " + p.spec.Reactor.Guard.Text
		if e.Input != "" {
			b.Detail = "the guard was false of what had come of " + e.Input + ": " + p.spec.Reactor.Guard.Text
		}
		if e.Omitted > 0 {
			b.Detail += fmt.Sprintf(" (%s more that it read are not shown)", plural(int64(e.Omitted), "value"))
		}
	case refused.Conflated:
		b.Detail = "a value of " + e.Input + " was overwritten by a newer one before an epoch read it"
	case refused.Evicted:
		b.Detail = "the key was evicted: " + e.Detail
	default:
		b.Detail, b.Code = "input "+e.Input+" could hold no more: "+e.Detail, cmp.Or(e.Code, b.Code)
	}
	return b
}

var lateFate = map[string]string{
	"drop": " and was dropped", "side": " and went to the input of late events", "dead_letter": " and was refused",
}
