package library

import (
	"math"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

// The rolling functions look at the newest values: rolling_mean(x, 20) at the newest twenty,
// rolling_mean(x, duration("5m")) at those of the last five minutes, by the time of epochs or
// by the time given as the third argument. A value is in when it is younger than the duration.
// Null is passed over.

// resum is after how many values a sum of floats is made anew, so that rounding cannot add up;
// sooner when values have left beside which those that are there are small.
const resum = 1024

func rolling(name string, result boundary.Kind, f step, of eval.Kinds) eval.Function {
	return rememberingRanged(name, 2, 3, result, newQueue, f, of, eval.Int|span, moment)
}

// roll gives q the mode of an evaluation's window, and says when its newest value is and up
// to where older ones have left.
func roll(e *env, at site, q *queue, args []value) (now, left int64, ok bool) {
	m, width := modeCount, integer(args[1])
	if d, is := args[1].AsDuration(); is {
		m, width = modeTime, int64(d)
	}
	switch {
	case width < 1 || m == modeCount && width > maxRemembered:
		e.Fail(at, rules.CodeInvalidArgument,
			"the window must be a number of values from 1 to %d, or a duration above 0, got %s", maxRemembered, args[1])
		return 0, 0, false
	case m == modeCount && len(args) > 2:
		e.Fail(at, rules.CodeInvalidArgument,
			"a time is of use only where the window is a duration; leave the third argument out")
		return 0, 0, false
	case q.now.mode != modeNone && q.now.mode != m:
		e.Fail(at, rules.CodeInvalidArgument, "the window was given as a number of values before and as a duration "+
			"now, or the other way round; keep to one")
		return 0, 0, false
	}
	q.now.mode = m
	now = q.now.steps
	if !args[0].IsNull() {
		now++ // the step to come
	}
	if m == modeTime {
		now = q.clock(e, args[2:])
	}
	return now, now - width, true
}

// slide brings the window up to an evaluation: the new value in, unless it is null, and out
// what has left. The sums go along.
func slide(e *env, at site, m eval.Memory, args []value) (*queue, bool) {
	q := queueOf(m)
	now, left, ok := roll(e, at, q, args)
	if !ok {
		return nil, false
	}
	for q.len() > 0 && q.at(0).at <= left {
		q.now.sums.add(q.at(0).v, -1)
		q.drop()
	}
	if args[0].IsNull() {
		if q.now.sums.worn() {
			q.resum()
		}
		return q, true
	}
	if q.len() >= maxRemembered {
		e.Fail(at, rules.CodeLimitExceeded, "more than %d values are in the window of %s; use a window accumulator",
			maxRemembered, args[1])
		return nil, false
	}
	q.push(sample{args[0], now})
	q.now.sums.add(args[0], 1)
	if s := &q.now.sums; q.now.steps%resum == 0 || s.worn() || !rules.Finite(s.total()) {
		q.resum()
	}
	return q, true
}

// resum makes the sums anew of what is in the window.
func (q *queue) resum() {
	q.now.sums = sums{}
	for i := range q.len() {
		q.now.sums.add(q.at(i).v, 1)
	}
}

// rollingCount is how many values are in the window. What they are does not matter.
func rollingCount(e *env, at site, m eval.Memory, args []value) value {
	one := [3]value{args[0]}
	if !one[0].IsNull() {
		one[0] = boundary.Int(1)
	}
	n := copy(one[1:], args[1:])
	q, ok := slide(e, at, m, one[:1+n])
	if !ok {
		return absent()
	}
	return boundary.Int(int64(q.len()))
}

// rollingSum is the sum of the window, an int as long as all values are; 0 when it is empty.
func rollingSum(e *env, at site, m eval.Memory, args []value) value {
	q, ok := slide(e, at, m, args)
	if !ok {
		return absent()
	}
	s := &q.now.sums
	if s.floats == 0 {
		i, ok := s.ints()
		if !ok {
			return e.Fail(at, rules.CodeNotFinite, "rolling_sum: the sum is too large for an int")
		}
		return boundary.Int(i)
	}
	return finite(e, at, "rolling_sum", s.total())
}

// rollingMean is the mean of the window, null when it is empty.
func rollingMean(e *env, at site, m eval.Memory, args []value) value {
	q, ok := slide(e, at, m, args)
	switch {
	case !ok:
		return absent()
	case q.len() == 0:
		return boundary.Null()
	}
	return finite(e, at, "rolling_mean", q.now.sums.total()/float64(q.len()))
}

// rollingStddev is the sample standard deviation of the window, null with fewer than two
// values. It looks at every value of the window: a running figure would not be exact.
func rollingStddev(e *env, at site, m eval.Memory, args []value) value {
	q, ok := slide(e, at, m, args)
	switch {
	case !ok:
		return absent()
	case q.len() < 2:
		return boundary.Null()
	}
	// Of the distances from one of them, so that large values that lie close together keep
	// what they differ by; and less what the mean of these is off.
	n, first, mean := float64(q.len()), q.at(0).v, 0.0
	for i := range q.len() {
		mean += rules.Distance(q.at(i).v, first) / n
	}
	squares, off := 0.0, 0.0
	for i := range q.len() {
		d := rules.Distance(q.at(i).v, first) - mean
		squares += d * d
		off += d
	}
	return finite(e, at, "rolling_stddev", math.Sqrt(max(squares-off*off/n, 0)/(n-1)))
}

// rollingExtreme is the least or the greatest of the window, null when it is empty. Only
// values are remembered that can still come to be it: each is better than all after it.
func rollingExtreme(sign int) step {
	name := map[int]string{-1: "rolling_min", 1: "rolling_max"}[sign]
	return func(e *env, at site, m eval.Memory, args []value) value {
		q := queueOf(m)
		now, left, ok := roll(e, at, q, args)
		if !ok {
			return absent()
		}
		for q.len() > 0 && q.at(0).at <= left {
			q.drop()
		}
		if x := args[0]; !x.IsNull() {
			for q.len() > 0 {
				c, ok := e.Order(at, name, q.at(q.len()-1).v, x)
				if !ok {
					return absent()
				}
				if c*sign > 0 {
					break
				}
				q.dropLast()
			}
			if q.len() >= maxRemembered {
				return e.Fail(at, rules.CodeLimitExceeded,
					"more than %d values are in the window of %s; use a window accumulator", maxRemembered, args[1])
			}
			q.push(sample{x.Compact(), now})
		}
		if q.len() == 0 {
			return boundary.Null()
		}
		return q.at(0).v
	}
}

// weightOf is the weight of the newest value of an ema, passed after the last one.
func weightOf(v value, passed time.Duration) (weight float64, ok bool) {
	if half, is := v.AsDuration(); is {
		return 1 - math.Exp2(-float64(max(passed, 0))/float64(half)), half > 0
	}
	n, _ := v.AsFloat()
	if n > 1 {
		n = 2 / (n + 1)
	}
	return n, n > 0
}
