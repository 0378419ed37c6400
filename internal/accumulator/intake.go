package accumulator

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec/decode"
)

// metaShape is what `meta` can hold; a field the source does not know is missing.
var metaShape = boundary.NewShape("key", "headers", "topic", "partition", "offset", "timestamp")

// noMeta is `meta` for events whose source knows nothing beside them.
var noMeta = boundary.Object(metaShape, make([]boundary.Value, metaShape.Len()))

func metaType() expression.Type {
	return expression.ObjectOf(map[string]expression.Type{
		"key":       expression.Of(boundary.KindString),
		"headers":   expression.ObjectOf(nil, true),
		"topic":     expression.Of(boundary.KindString),
		"partition": expression.Of(boundary.KindInt),
		"offset":    expression.Of(boundary.KindInt),
		"timestamp": expression.Of(boundary.KindTime),
	}, false)
}

// intake is the way of one event before it is folded: size, decode, schema, where, emit.
// It keeps the scratch of one Core and changes nothing but that, so that a panic in it
// leaves the books as they were.
type intake struct {
	p        *Program
	max      int
	dec      *boundary.Decoder // see decoder
	maxDepth int
	env      expression.Env
	made     *boundary.Builder // of what emit makes; nil without an emit mapping
	keys     *keyer            // nil: boundaries have no key
	key      boundary.Key      // of the last value
	// ownKeys make the keys of what goes to the input that the kind has of its own.
	ownKeys *keyer
	facts   fold.Facts     // of the present event
	lasting bool           // decoded events are kept, whatever the program says, but for
	loan    *boundary.Loan // what they are lent from; nil for none
	// What is known of the next event ahead of its being folded: of is nil when nothing is.
	dated Dated
	of    *boundary.Event
	taken *Taken // all that there is to find of it, if not nil
}

func newIntake(p *Program, lim Limits) *intake {
	in := &intake{p: p, max: lim.MaxEventBytes, keys: newKeyer(p.key)}
	in.maxDepth = lim.MaxDepth
	if p.folds != nil {
		in.ownKeys = newKeyer(p.ownKey)
		in.facts.Args = make([]boundary.Value, len(p.folds.Args))
		in.facts.Env = &in.env
	}
	in.env.Values = []boundary.Value{fold.NameEvent: {}, fold.NameMeta: noMeta, fold.NameVars: p.vars}
	if p.emitShape != nil {
		in.made = boundary.NewBuilder(p.emitShape)
	}
	return in
}

// decoder is that of the events: an input that gets none has none.
func (in *intake) decoder() *boundary.Decoder {
	if in.dec == nil {
		in.dec = boundary.NewDecoder(in.p.eventShape, boundary.Limits{
			MaxBytes: in.max, MaxDepth: in.maxDepth, Spoil: in.p.spoils,
		})
	}
	return in.dec
}

// value decodes and checks ev, and returns what it becomes. keep is false when `where`
// filters it out; bad says why it cannot be used.
func (in *intake) value(ev *boundary.Event) (v boundary.Value, keep bool, bad *BadEvent) {
	p, seen := in.p, in.of == ev
	if in.of = nil; !seen {
		in.dated = Dated{}
	} else if in.taken != nil {
		return in.take()
	}
	if v, bad = in.decode(ev); bad != nil {
		return v, false, bad
	}
	if p.time != nil && !seen { // under the arrival clock nobody has: what a bounded run refuses is refused
		in.set(v, ev.Meta)
		var at int64
		if at, bad = in.when(); bad != nil {
			return v, false, bad
		}
		in.dated = Dated{At: at, Timed: true}
	}
	if p.schema != nil {
		if text := p.schema.Check(v); text != "" {
			return v, false, &BadEvent{Stage: "schema", Code: "against_schema", Text: text}
		}
	}
	if p.where == nil && p.emit == nil && p.emitWhole == nil && p.key == nil && !p.places {
		return v, true, nil
	}
	in.set(v, ev.Meta)
	if p.where != nil {
		pass, err := p.where.EvalBool(&in.env)
		if err != nil {
			return v, false, evalFault("where", err)
		}
		if !pass {
			return v, false, nil
		}
	}
	if p.lends && in.made == nil && p.emitWhole == nil && !p.looksOnly {
		v = in.keep(v) // the event itself is handed on
	}
	if p.places {
		bad = in.place()
		if in.facts.Deletes = false; bad == nil && p.folds.Table != nil {
			if bad = in.deletes(v); in.facts.Deletes {
				return v, bad == nil, bad
			}
		}
		if bad == nil {
			v, bad = in.shape(v)
		}
		if bad == nil {
			bad = in.measure(v)
		}
		return v, bad == nil, bad
	}
	v, bad = in.shape(v)
	if bad == nil && in.keys != nil && p.folds == nil {
		bad = in.setKey(v)
	}
	return v, bad == nil, bad
}

// keep returns the value of the present event as one that lasts.
func (in *intake) keep(v boundary.Value) boundary.Value {
	if in.dated.Lent {
		return in.decoder().Own(v)
	}
	return in.decoder().Keep(v)
}

// setKey finds the key of the event in the environment, which becomes v.
func (in *intake) setKey(v boundary.Value) (bad *BadEvent) {
	if in.p.key.ofEvent {
		in.key, bad = in.keys.eval(&in.env)
	} else {
		in.key, bad = in.keys.ofBoundary(v)
	}
	return bad
}

// decode makes the event's value, or takes the one it came with.
func (in *intake) decode(ev *boundary.Event) (boundary.Value, *BadEvent) {
	if len(ev.Raw) > in.max {
		return boundary.Value{}, tooLarge(int64(len(ev.Raw)), in.max)
	}
	if !ev.Value.IsAbsent() {
		if ev.Raw == nil {
			if n := ev.Value.Size(); n > in.max {
				return boundary.Value{}, tooLarge(int64(n), in.max)
			}
		}
		return ev.Value, nil
	}
	var v boundary.Value
	var err error
	switch {
	case in.loan != nil:
		v, err = in.decoder().LendFrom(in.loan, ev.Raw)
	case in.p.lends && !in.lasting:
		v, err = in.decoder().Lend(ev.Raw)
	default:
		v, err = in.decoder().Decode(ev.Raw)
	}
	if err == nil {
		return v, nil
	}
	var fault *boundary.DecodeError
	if errors.As(err, &fault) {
		return v, &BadEvent{Stage: "decode", Code: fault.Code, Text: decode.OneLine(fault.Error())}
	}
	return v, &BadEvent{Stage: "decode", Code: "invalid_json", Text: decode.OneLine(err.Error())}
}

func tooLarge(n int64, limit int) *BadEvent {
	return &BadEvent{
		Stage: "size", Code: "too_large",
		Text: fmt.Sprintf("the event has %d bytes, the limit is %d", n, limit),
	}
}

// set makes the event what the expressions read.
func (in *intake) set(v boundary.Value, meta *boundary.Meta) {
	in.env.Values[fold.NameEvent] = v
	if !in.p.readsMeta {
		return
	}
	if meta == nil {
		in.env.Values[fold.NameMeta] = noMeta
		return
	}
	in.env.Values[fold.NameMeta] = metaValue(meta)
}

// metaValue is meta as expressions read it. Topic tells a message of a broker from
// everything else: only those have a partition and an offset.
func metaValue(m *boundary.Meta) boundary.Value {
	slots := make([]boundary.Value, metaShape.Len())
	if m.Key != "" {
		slots[0] = boundary.String(m.Key)
	}
	if len(m.Headers) > 0 {
		headers := make(map[string]any, len(m.Headers))
		for k, h := range m.Headers {
			headers[k] = h
		}
		if v, err := boundary.FromAny(headers); err == nil {
			slots[1] = v
		}
	}
	if m.Topic != "" {
		slots[2] = boundary.String(m.Topic)
		slots[3] = boundary.Int(int64(m.Partition))
		slots[4] = boundary.Int(m.Offset)
	}
	if !m.Timestamp.IsZero() && boundary.Holds(m.Timestamp) {
		slots[5] = boundary.Time(m.Timestamp)
	}
	return boundary.Object(metaShape, slots)
}

// shape makes what emit says of the event in the environment.
func (in *intake) shape(event boundary.Value) (boundary.Value, *BadEvent) {
	p := in.p
	if p.emitWhole != nil {
		v, err := p.emitWhole.Eval(&in.env)
		if err != nil {
			return v, evalFault("emit", err)
		}
		return v, nil
	}
	if p.emit == nil {
		return event, nil
	}
	slots := in.made.Slots()
	for i, x := range p.emit {
		v, err := x.Eval(&in.env)
		if err != nil {
			bad := evalFault("emit", err)
			bad.Text = p.emitShape.Name(i) + ": " + bad.Text
			return v, bad
		}
		slots[i] = v
	}
	return in.made.Object(), nil
}

// time is the event's own time; ok is false when none is declared. The decoded value is
// left in ev, so that folding the event does not decode it again.
func (in *intake) time(ev *boundary.Event) (at time.Time, ok bool, bad *BadEvent) {
	if in.p.time == nil {
		return time.Time{}, false, nil
	}
	ns, bad := in.nanos(ev)
	if bad != nil {
		return time.Time{}, false, bad
	}
	return time.Unix(0, ns).UTC(), true, nil
}

// nanos is time where one is declared, in nanoseconds since 1970.
func (in *intake) nanos(ev *boundary.Event) (int64, *BadEvent) {
	v, bad := in.decode(ev)
	if bad != nil {
		return 0, bad
	}
	ev.Value = v
	in.set(v, ev.Meta)
	return in.when()
}

// when is the time that the event in the environment declares, in nanoseconds since 1970.
func (in *intake) when() (int64, *BadEvent) {
	v, err := in.p.time.Expr.Eval(&in.env)
	if err != nil {
		return 0, evalFault("time", err)
	}
	return in.p.time.At(v)
}

func evalFault(stage string, err error) *BadEvent {
	var fault *expression.EvalError
	if errors.As(err, &fault) {
		return &BadEvent{Stage: stage, Code: fault.Code, Text: decode.OneLine(fault.Text)}
	}
	return &BadEvent{Stage: stage, Code: expression.CodeTypeError, Text: decode.OneLine(err.Error())}
}

// Panicked is what is wrong with an event that made the fold panic.
func Panicked(text string) *BadEvent {
	return &BadEvent{Stage: "fold", Code: "panic", Text: decode.OneLine(text)}
}
