package accumulator

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/folding"
	"github.com/graphd/graphd/internal/accumulator/gofold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// summing is a registered fold: it hands over the sum of the key's events with every third of them, fails
// for 7 and panics for 8. Its keys are few, so that some are evicted.
func summing() gofold.Declared { return summingOf(1, nil) }

// summingOf is the same of another version.
func summingOf(
	version int, migrate func(version int, state boundary.Value) (boundary.Value, error),
) gofold.Declared {
	step := func(state, event boundary.Value) (folding.Stepped, error) {
		n, sum := 0, 0
		if was, ok := state.Any().([]any); ok {
			n, sum = was[0].(int), was[1].(int)
		}
		x, ok := event.Any().(int)
		switch {
		case !ok:
			return folding.Stepped{}, errors.New("not a number")
		case x%10 == 7:
			return folding.Stepped{}, errors.New("not seven")
		case x%10 == 8:
			panic("eight")
		}
		next := boundary.List([]boundary.Value{boundary.Int(int64(n + 1)), boundary.Int(int64(sum + x))})
		return folding.Stepped{State: next, Value: boundary.Int(int64(sum + x)), Emits: n%3 == 2}, nil
	}
	return gofold.Declared{
		Name: "sum", Key: []spec.Expr{expr("event % 5")}, MaxKeys: 3, MaxBytes: 1000,
	}.Of(&gofold.Registered{
		Version: version, Migrate: migrate,
		New: func(map[string]any) (func(state, event boundary.Value) (folding.Stepped, error), error) {
			return step, nil
		},
	})
}

// M5: what a registered fold fails for is one dead letter, in the stage fold, and all else goes on.
func TestM5RegisteredFoldFails(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Kind: "go", Config: summing()})
	for i, x := range []int{0, 5, 7, 8, 10} {
		c.Add(at(0), pulled(int64(i+1), fmt.Sprint(x)), true)
	}
	h := take(t, c)
	var got []string
	for _, l := range h.DeadLetters {
		got = append(got, l.Stage, l.Code, l.Reason)
	}
	if text := fmt.Sprint(got); text != "[fold error not seven fold panic eight]" {
		t.Errorf("got %s", text)
	}
	if text := fmt.Sprint(values(h)); text != `[{"key":0,"value":15}]` || h.Boundaries[0].Events != 3 {
		t.Errorf("got %s", text)
	}
}

// M33: a state says of which version it is. One of another version is migrated, or refused with what to do,
// in one piece and in pages.
func TestM33RegisteredFoldVersions(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Kind: "go", Config: summing()})
	c.Add(at(0), pulled(1, "1"), true)
	m := take(t, c).Mark
	parts := map[string][]byte{}
	for part := range m.State.(fold.Parted).Parts() {
		parts[part.Name] = part.Append(nil)
	}
	joined := fold.Join(m.State.(fold.Parted).AppendHead(nil), parts)
	twice := func(version int, state boundary.Value) (boundary.Value, error) {
		if version != 1 {
			return state, fmt.Errorf("version %d", version)
		}
		return state, nil
	}
	for _, test := range []struct {
		version int
		migrate func(version int, state boundary.Value) (boundary.Value, error)
		want    string
	}{
		{1, nil, ""},
		{3, twice, ""},
		{2, nil, "the kept state is of version 1, and this program makes version 2: give the accumulator a Migrate"},
		{2, func(int, boundary.Value) (boundary.Value, error) { panic("a bug") }, "from version 1 to 2: a bug"},
		{2, func(int, boundary.Value) (boundary.Value, error) { return boundary.Null(), nil }, "made nothing"},
		{2, func(_ int, s boundary.Value) (boundary.Value, error) { return s, errors.New("too old") }, "too old"},
	} {
		a := summingOf(test.version, test.migrate)
		p := compile(t, spec.Accumulator{Kind: "go", Config: a})
		for _, data := range [][]byte{encoded(m), joined} {
			next := NewCore(p, Limits{})
			err := next.Restore(data, m.Counters, m.Positions)
			if test.want == "" && err != nil || test.want != "" &&
				(err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("version %d: got %v, want %q", test.version, err, test.want)
			}
			if err != nil {
				continue
			}
			next.Add(at(0), pulled(2, "1"), true)
			next.Add(at(0), pulled(3, "1"), true)
			newer := take(t, next)
			if text := fmt.Sprint(values(newer)); text != `[{"key":1,"value":3}]` {
				t.Errorf("version %d: got %s", test.version, text)
			}
			if test.version > 1 { // and the way back is closed
				back := newCore(t, spec.Accumulator{Kind: "go", Config: summing()})
				err := back.Restore(encoded(newer.Mark), newer.Mark.Counters, nil)
				if err == nil || !strings.Contains(err.Error(), "version 3, and this program knows versions up to 1") {
					t.Errorf("got %v", err)
				}
			}
		}
	}
	other := newCore(t, spec.Accumulator{Kind: "go", Config: summing()})
	if err := other.Restore([]byte("F\x01\x00\x00\x00"), Counters{}, nil); !errors.Is(err, fold.ErrForeign) {
		t.Errorf("the state of a fold of expressions: %v", err)
	}
}
