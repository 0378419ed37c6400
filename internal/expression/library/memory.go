package library

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

// The functions with memory. Each call in an expression has a memory of its own, for every
// key of a keyed graph; it is part of the node's state (M16, M21, M22): kept when the epoch
// is, taken back when the epoch fails, and in the checkpoint.

// maxRemembered bounds what one call keeps: far above what a window in an expression is for,
// and at most a few MiB.
const maxRemembered = 100_000

var memoryFunctions = []eval.Function{
	remembering("ema", boundary.KindFloat, newAverage, ema, number|eval.Null, number|span),
	rememberingRanged("lag", 1, 2, varies, newQueue, lag, eval.Anything, eval.Int),
	remembering("delta", varies, newQueue, delta, number|moment|span|eval.Null),
	rememberingRanged("rate", 1, 2, boundary.KindFloat, newQueue, rate, number|eval.Null, moment),
	rolling("rolling_count", boundary.KindInt, rollingCount, eval.Anything),
	rolling("rolling_sum", varies, rollingSum, number|eval.Null),
	rolling("rolling_mean", boundary.KindFloat, rollingMean, number|eval.Null),
	rolling("rolling_stddev", boundary.KindFloat, rollingStddev, number|eval.Null),
	rolling("rolling_min", varies, rollingExtreme(-1), ordered|eval.Null),
	rolling("rolling_max", varies, rollingExtreme(1), ordered|eval.Null),
	rememberingRanged("dedupe", 2, 3, boundary.KindBool, newSeen, dedupe, eval.Anything, span, moment),
}

type step = func(e *env, at site, m eval.Memory, args []value) value

func remembering(name string, result boundary.Kind, remember func() eval.Memory, f step,
	params ...eval.Kinds) eval.Function {
	return eval.Function{Name: name, Result: result, Remember: remember, Step: f, Params: params}
}

func rememberingRanged(name string, least, most int, result boundary.Kind, remember func() eval.Memory, f step,
	params ...eval.Kinds) eval.Function {
	return eval.Function{Name: name, Min: least, Max: most, Result: result, Remember: remember, Step: f,
		Params: params}
}

// average is the memory of ema.
type average struct{ now, kept averageState }

type averageState struct {
	value float64
	at    int64 // when it was, in nanoseconds
	some  bool
}

func newAverage() eval.Memory { return &average{} }

// Conclude implements eval.Memory.
func (m *average) Conclude(keep bool) {
	if keep {
		m.kept = m.now
	} else {
		m.now = m.kept
	}
}

// AppendBinary implements eval.Memory.
func (m *average) AppendBinary(dst []byte) []byte {
	if !m.kept.some {
		return dst
	}
	return binary.AppendVarint(boundary.Float(m.kept.value).AppendBinary(dst), m.kept.at)
}

// Restore implements eval.Memory.
func (m *average) Restore(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	v, rest, err := boundary.DecodeBinary(data)
	if err != nil {
		return err
	}
	f, ok := v.AsFloat()
	at, n := binary.Varint(rest)
	if !ok || n != len(rest) {
		return errMemory
	}
	m.now = averageState{f, at, true}
	m.kept = m.now
	return nil
}

// Size implements eval.Memory.
func (m *average) Size() int { return 48 }

var errMemory = errors.New("the memory of a function is damaged")

// ema is the exponential moving average. How much the newest value weighs is said by the
// second argument: a weight up to 1; a number of values n above 1, for 2/(n+1); or a duration,
// after which what was before weighs half.
func ema(e *env, at site, m eval.Memory, args []value) value {
	a := m.(*average)
	x, ok := args[0].AsFloat()
	now := e.Now.UnixNano()
	weight, fine := weightOf(args[1], time.Duration(now-a.now.at))
	switch {
	case !fine:
		return e.Fail(at, rules.CodeInvalidArgument,
			"ema: the weight must be above 0: a part up to 1, a number of values, or a duration")
	case !ok && !a.now.some:
		return boundary.Null()
	case !ok: // null: nothing new
		return boundary.Float(a.now.value)
	case a.now.some:
		x = a.now.value + weight*(x-a.now.value)
	}
	if !rules.Finite(x) {
		return e.Fail(at, rules.CodeNotFinite, "ema: the values are too large")
	}
	if a.now.some {
		now = max(now, a.now.at) // time does not go back
	}
	a.now = averageState{x, now, true}
	return boundary.Float(x)
}

// lag is the value of n evaluations ago, null while there is none.
func lag(e *env, at site, m eval.Memory, args []value) value {
	q, n := queueOf(m), int64(1)
	if len(args) > 1 {
		n = integer(args[1])
	}
	if n < 1 || n >= maxRemembered {
		return e.Fail(at, rules.CodeInvalidArgument, "lag: the second argument must be from 1 to %d, got %d",
			maxRemembered-1, n)
	}
	out := boundary.Null()
	if q.len() >= int(n) {
		out = q.at(q.len() - int(n)).v
	}
	q.push(sample{v: args[0].Compact()})
	q.dropTo(int(n))
	return out
}

// delta is the difference to the value before, null at the first.
func delta(e *env, at site, m eval.Memory, args []value) value {
	q, x := queueOf(m), args[0]
	if x.IsNull() {
		return x
	}
	out := boundary.Null()
	if q.len() > 0 {
		if out = e.Arith(at, rules.Sub, x, q.at(0).v); out.IsAbsent() {
			return out
		}
	}
	q.push(sample{v: x.Compact()})
	q.dropTo(1)
	return out
}

// rate is the change in a second since the value before, null at the first and when no time has passed.
func rate(e *env, at site, m eval.Memory, args []value) value {
	q := queueOf(m)
	x, ok := args[0].AsFloat()
	if !ok {
		return boundary.Null()
	}
	now, out := q.clock(e, args[1:]), boundary.Null()
	if q.len() > 0 {
		before := q.at(0)
		y, _ := before.v.AsFloat()
		if passed := time.Duration(now - before.at); passed > 0 {
			r := (x - y) / passed.Seconds()
			if !rules.Finite(r) {
				return e.Fail(at, rules.CodeNotFinite, "rate: the change from %s to %s is too large", before.v, args[0])
			}
			out = boundary.Float(r)
		}
	}
	q.push(sample{v: args[0], at: now})
	q.dropTo(1)
	return out
}
