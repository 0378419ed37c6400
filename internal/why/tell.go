package why

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
)

// Facts are what is known of an epoch.
type Facts struct {
	Firing *api.FiringDetail
	// Before are records of the same key from before it, newest first: as far as they are worth a look. Across are
	// those of all keys, where inputs are shared by them; nil where that is the same.
	Before, Across []api.FiringDetail
	// Summary is how the shard that has counted it stands now, and Untold why that is not known; "" where it is.
	Summary *api.GraphSummary
	Untold  string
	// Stable says of an output, by its place in the declaration, that firing ids have no incarnation.
	Stable func(output int) bool
	// Waits says of an output, by its place in the declaration, whether what the epoch gave still waits for its sink.
	Waits func(output int) Waited
	// Letters are the dead letters of values that it gave, and Missed why there may be more of them, which have not
	// reached the store; "" where there are none.
	Letters []api.DeadLetter
	Missed  string
	// Revision is what the graph was declared as; nil where that is not known. Other says that it was, or may have
	// been, another declaration than that of the picture.
	Revision *api.Revision
	Other    bool
}

// Tell tells why an epoch ran and what has become of what it gave.
func (p *Picture) Tell(x *Facts) api.Why {
	f := x.Firing
	w := api.Why{
		Graph: p.name, Epoch: f.Epoch, Shard: f.Shard, Incarnation: f.Incarnation, At: f.At, Key: orNull(f.Key),
		OK: f.OK, Error: f.Error, Revision: x.Revision, Degraded: f.Degraded,
		Inputs: []api.WhyInput{}, Nodes: []api.WhyNode{}, Outputs: []api.WhyOutput{},
	}
	if x.Other {
		p.recorded(x, &w)
		return w
	}
	w.Cause = p.cause(f)
	for i := range p.spec.Accumulators {
		w.Inputs = append(w.Inputs, p.input(x, p.spec.Accumulators[i].Name))
	}
	w.Guard = p.passed(x)
	for i := range p.spec.Nodes {
		name := p.spec.Nodes[i].Name
		did, known := f.Nodes[name]
		if !known { // the epoch failed before its nodes ran
			continue
		}
		w.Nodes = append(w.Nodes, api.WhyNode{Name: name, Status: did.Status, Value: orNull(did.Value),
			Because: p.node(f, name, map[string]bool{})})
	}
	for i := range p.spec.Outputs {
		w.Outputs = append(w.Outputs, p.given(x, i))
	}
	w.Sentence = p.sentence(&w)
	return w
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// taken are the triggering inputs that an epoch took something of, and missing the others.
func (p *Picture) taken(f *api.FiringDetail) (taken, missing []string) {
	for _, name := range p.triggers() {
		if f.Cut[name].Taken {
			taken = append(taken, name)
		} else {
			missing = append(missing, name)
		}
	}
	return taken, missing
}

// cause puts into words what made an epoch run.
func (p *Picture) cause(f *api.FiringDetail) api.Reason {
	r, detail := p.spec.Reactor, ""
	taken, missing := p.taken(f)
	switch f.Cause {
	case "criteria":
		if r.When == "all" && len(taken) > 1 {
			detail = "all of " + list(taken, "and") + " had something new"
			break
		}
		detail = list(taken, "and") + " had something new"
		if n := len(taken) + len(missing); n > len(taken) {
			detail += ", and any of " + fmt.Sprint(n) + " inputs fires"
			if r.When == "all" {
				detail = list(taken, "and") + " had something new, and " + list(missing, "and") + " had arrived"
			}
		}
		if detail += p.timers(); len(taken) == 0 {
			detail = "something new had arrived"
		}
	case "force":
		detail = "an operator asked for it: criteria, guard and timers were not asked"
	case "with":
		detail = "an operator handed in values"
	case "tick":
		detail = "its cadence was due, with nothing new"
		if r.Every > 0 {
			detail = "its cadence was due, every " + r.Every.String() + ", with nothing new"
		}
		if len(f.Lanes) > 0 {
			detail = "the cadence of " + list(f.Lanes, "and") + " was due, with nothing new"
		}
	case "max_wait":
		detail = list(taken, "and") + " had waited for " + r.MaxWait.String() + ", which is as long as max_wait allows"
		if r.When == "all" && len(missing) > 0 {
			detail += "; " + list(missing, "and") + " had not come"
		}
	}
	return api.Reason{Code: f.Cause, Detail: detail}
}

// timers are what may have delayed an epoch.
func (p *Picture) timers() string {
	r, said := p.spec.Reactor, []string{}
	for _, t := range []struct {
		name string
		d    time.Duration
	}{{"debounce", r.Debounce}, {"rate_limit", r.RateLimit}, {"every", r.Every}} {
		if t.d > 0 {
			said = append(said, t.name+" "+t.d.String())
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "; it was let run by " + list(said, "and")
}

// input is what the epoch read of an input.
func (p *Picture) input(x *Facts, name string) api.WhyInput {
	f := x.Firing
	cut, in := f.Cut[name], api.WhyInput{Name: name, State: "cached", Value: orNull(f.Inputs[name])}
	in.Events, in.Position = cut.Events, cut.Position
	a, before := p.accumulator(name), x.Before
	if x.Other {
		a = nil // it may have been declared otherwise
	}
	if a != nil && isShared(a) && x.Across != nil {
		before = x.Across
	}
	switch {
	case cut.Taken:
		in.State, in.AgeSeconds = "new", new(float64)
		return in
	case isNull(f.Inputs[name]) && (a == nil || !a.HasDefault):
		in.State = "absent"
		return in
	}
	for i := range before {
		if b := &before[i]; b.OK && b.Cut[name].Taken {
			age := max(0, f.At.Sub(b.At).Seconds())
			in.SinceEpoch, in.AgeSeconds = b.Epoch, &age
			return in
		}
	}
	if a != nil && a.HasDefault && cut.Position == "" && isDefault(a, f.Inputs[name]) {
		in.State = "default"
	}
	return in
}

// isDefault says that a record's value is the one that stands for an input until something has arrived. What was pushed
// has no position, so that it is told from a default by what it is.
func isDefault(a *spec.Accumulator, raw json.RawMessage) bool {
	v, err := boundary.FromAny(a.Default)
	if err != nil {
		return false
	}
	text := string(v.AppendJSON(nil))
	if n := v.Size(); n > reactor.MaxRecordValue {
		text = fmt.Sprintf(`{"omitted_bytes":%d}`, n) // as records show it
	}
	return text == string(orNull(raw))
}

// passed is what the guard has read, which has held, or failed; nil where it was not asked.
func (p *Picture) passed(x *Facts) *api.WhyGuard {
	f := x.Firing
	if len(p.guard) == 0 || f.Cause == "force" || f.Cause == "with" {
		return nil
	}
	g := &api.WhyGuard{Expression: p.spec.Reactor.Guard.Text, Reads: map[string]json.RawMessage{}}
	for _, name := range p.guard {
		switch {
		case name == "vars":
		case name == "key":
			g.Reads[name] = orNull(f.Key)
		case p.nodes[name] != nil:
			g.Reads[name] = json.RawMessage("null")
			if i := slices.IndexFunc(x.Before, func(b api.FiringDetail) bool { return b.OK }); i >= 0 {
				g.Reads[name] = orNull(x.Before[i].Nodes[name].Value)
			}
		default:
			g.Reads[name] = orNull(f.Inputs[name])
		}
	}
	return g
}

// given is what an output gave, and where that is now.
func (p *Picture) given(x *Facts, i int) api.WhyOutput {
	f, o := x.Firing, &p.spec.Outputs[i]
	out := api.WhyOutput{Name: o.Name, Sink: o.Sink.Kind, Fate: "silent", Value: json.RawMessage("null")}
	v, gave := f.Outputs[o.Name]
	if !gave {
		if out.Because = p.output(f, o.Name); out.Because != nil {
			out.Detail = out.Because.Detail
		}
		return out
	}
	out.Value = orNull(v)
	if id, err := uuid.Parse(x.Summary.Instance); err == nil {
		out.FiringID = FiringID(id, &f.Firing, o.Name, x.Stable(i))
	}
	k := slices.IndexFunc(x.Letters, func(l api.DeadLetter) bool {
		return l.Output == o.Name && l.FiringID == out.FiringID && l.FiringID != ""
	})
	if k >= 0 {
		l := &x.Letters[k]
		out.Fate, out.Letter = "dead_letter", l.ID
		out.Detail = fmt.Sprintf("its sink refused it, %s: %s; it is dead letter %s", l.Code, l.Reason, l.ID)
		return out
	}
	out.Fate, out.Detail = fate(x, i, o.Name)
	return out
}

// FiringID is the id under which an epoch's value was sent to an output's sink.
func FiringID(instance uuid.UUID, f *api.Firing, output string, stable bool) string {
	m := sink.Message{Instance: instance, Incarnation: f.Incarnation, Epoch: f.Epoch, Output: output, Stable: stable}
	if !isNull(f.Key) {
		m.Key = boundary.Key(f.Key)
	}
	return m.FiringID()
}

// Waited says whether a value waits for its sink; Known is false where that cannot be told, and Nobody says that
// nothing is delivered: only watchers see it.
type Waited struct {
	Waits  bool `json:"waits"`
	Known  bool `json:"known"`
	Nobody bool `json:"nobody"`
}

// unknown is the fate of what nobody can tell of, and notKnown begins to say why.
const unknown, notKnown = "unknown", "where it is cannot be told: "

// fate says where a value is that an output gave in an epoch, and that no dead letter has.
func fate(x *Facts, output int, name string) (fate, detail string) {
	epoch := x.Firing.Epoch
	i := slices.IndexFunc(x.Summary.Outputs, func(o api.OutputSummary) bool { return o.Name == name })
	switch {
	case x.Untold != "":
		return unknown, notKnown + x.Untold
	case i < 0:
		return unknown, notKnown + "the graph has the output no more"
	case x.Summary.Instance == "": // nothing is known of what is in the store either
		return unknown, notKnown + "the graph is " + x.Summary.Health + ", and has not run in this daemon"
	}
	o := &x.Summary.Outputs[i]
	switch {
	case o.Path != "direct" && epoch > x.Summary.Durability.CheckpointEpoch:
		return "held", fmt.Sprintf("it waits for the commit that has its epoch; the last one has epoch %d",
			x.Summary.Durability.CheckpointEpoch)
	case o.Path == "co-transaction":
		return "delivered", "the commit of its epoch has written its row"
	}
	switch w := x.Waits(output); {
	case w.Nobody:
		return "watched", "who watched has seen it: sink " + o.Sink + " delivers nothing"
	case w.Waits:
		return "pending", pendingText(o)
	case !w.Known && o.Pending > 0:
		return unknown, pendingText(o) + "; whether it is among them is not known before they are read from the outbox"
	case !w.Known:
		return unknown, notKnown + "the graph is " + x.Summary.Health + ", and who delivers for it could not be asked"
	case x.Missed != "":
		return unknown, notKnown + "whether its sink refused it could not be asked: " + x.Missed
	}
	return "delivered", "sink " + o.Sink + " has it"
}

func pendingText(o *api.OutputSummary) string {
	text := fmt.Sprintf("sink %s has %s to deliver still", o.Sink, plural(o.Pending, "value"))
	switch {
	case o.Stopped != nil:
		text += "; " + o.Stopped.By + " has stopped the output"
	case o.Error != "":
		text += "; it fails: " + o.Error
	}
	return text
}

// sentence is all of it in short.
func (p *Picture) sentence(w *api.Why) string {
	var text strings.Builder
	fmt.Fprintf(&text, "epoch %d of %s", w.Epoch, p.name)
	if !isNull(w.Key) {
		fmt.Fprintf(&text, " for key %s", w.Key)
	}
	fmt.Fprintf(&text, " ran because %s", w.Cause.Detail)
	if w.Guard != nil && !guardFailed(w) {
		text.WriteString(", and the guard held")
	}
	if !w.OK {
		text.WriteString("; it failed and changed nothing")
		if w.Error != nil {
			text.WriteString(": " + *w.Error)
		}
		return text.String()
	}
	fates := map[string][]string{}
	for i := range w.Outputs {
		fates[w.Outputs[i].Fate] = append(fates[w.Outputs[i].Fate], w.Outputs[i].Name)
	}
	if len(fates["silent"]) == len(w.Outputs) && len(w.Outputs) > 0 {
		text.WriteString("; no output gave anything")
		return text.String()
	}
	for _, of := range []struct{ fate, says string }{
		{"delivered", "went out"}, {"watched", "went to who watched"}, {"pending", "waits for its sink"},
		{"held", "waits for its commit"}, {"dead_letter", "became a dead letter"}, {"silent", "gave nothing"},
	} {
		if names := fates[of.fate]; len(names) > 0 {
			fmt.Fprintf(&text, "; %s %s", list(names, "and"), of.says)
		}
	}
	if names := fates[unknown]; len(names) > 0 {
		text.WriteString("; what has become of " + list(names, "and") + " is not known")
	}
	return text.String()
}

// guardFailed says that an epoch failed since its guard could not be evaluated.
func guardFailed(w *api.Why) bool {
	return !w.OK && w.Error != nil && strings.HasPrefix(*w.Error, "guard: ")
}
