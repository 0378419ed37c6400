package generator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func newSource(t *testing.T, text string, g Declared) *Source {
	t.Helper()
	vars, err := boundary.FromAny(map[string]any{"base": 100})
	if err != nil {
		t.Fatal(err)
	}
	g.Expr = spec.Expr{Text: text}
	s, ds := New(Config{Declared: g, Vars: vars, VarsType: expression.OfValue(vars)})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return s
}

const walk = `{"i": i, "bid": vars.base + rand(), "ask": rand()}`

func TestConformance(t *testing.T) {
	for name, c := range map[string]Declared{
		"bounded": {Count: 700, Seed: 3}, "endless": {Seed: 3}, "paced": {Every: 10 * time.Microsecond, Count: 700},
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, sourcetest.Suite{
				New:    func(t *testing.T) accumulator.Source { return newSource(t, walk, c) },
				Events: 700, Endless: c.Count == 0,
			})
		})
	}
}

func generate(t *testing.T, s *Source, from ...boundary.Position) []sourcetest.Item {
	t.Helper()
	r := &sourcetest.Receiver{}
	if err := s.Run(t.Context(), from, r); err != nil {
		t.Fatal(err)
	}
	return r.Items()
}

// What an event is depends on the seed and its number alone.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	a := generate(t, newSource(t, walk, Declared{Count: 600, Seed: 7}))
	b := generate(t, newSource(t, walk, Declared{Count: 600, Seed: 7}))
	if !slices.Equal(a, b) {
		t.Error("two runs of one seed differ")
	}
	c := generate(t, newSource(t, walk, Declared{Count: 600, Seed: 8}))
	same := 0
	for i := range a {
		if a[i].Raw == c[i].Raw {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d events are the same under two seeds", same)
	}
	tail := generate(t, newSource(t, walk, Declared{Count: 600, Seed: 7}), boundary.Position{Offset: 511})
	if !slices.Equal(tail, a[511:]) {
		t.Error("resumed after event 511, the rest differs")
	}
	if a[0].Pos != (boundary.Position{Offset: 1}) || !strings.HasPrefix(a[5].Raw, `{"ask":0.`) ||
		!strings.Contains(a[5].Raw, `"i":5`) {
		t.Errorf("got %+v", a[5])
	}
}

// rand() is spread over [0, 1), between events and within one.
func TestRandIsSpread(t *testing.T) {
	t.Parallel()
	s := newSource(t, "[rand(), rand()]", Declared{})
	m := &maker{s: s}
	for name, draw := range map[string]func(i int64) float64{
		"first of each event": func(i int64) float64 { m.state = mix(uint64(s.seed)) ^ uint64(i); return m.rand() },
		"many of one event":   func(int64) float64 { return m.rand() },
		"second of each event": func(i int64) float64 {
			m.state = mix(uint64(s.seed)) ^ uint64(i)
			m.rand()
			return m.rand()
		},
	} {
		const n, cells = 20_000, 20
		var count [cells]int
		m.state = 1
		for i := range int64(n) {
			x := draw(i)
			if x < 0 || x >= 1 {
				t.Fatalf("%s: %v is not in [0, 1)", name, x)
			}
			count[int(x*cells)]++
		}
		for c, k := range count {
			if k < n/cells*8/10 || k > n/cells*12/10 {
				t.Errorf("%s: %d of %d in cell %d of %d", name, k, n, c, cells)
			}
		}
	}
}

// An event whose expression fails is refused in its place.
func TestRefused(t *testing.T) {
	t.Parallel()
	items := generate(t, newSource(t, "10 / (i - 2)", Declared{Count: 4}))
	var got []string
	for _, it := range items {
		got = append(got, fmt.Sprintf("%s%s@%d", it.Raw, it.Bad, it.Pos.Offset))
	}
	if want := `[-5@1 -10@2 {"i":2}not_finite@3 10@4]`; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// One event each interval; a stall is not made up for by a flood.
func TestCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		gate := make(chan struct{}, 1)
		r := &held{gate: gate}
		done := make(chan error, 1)
		go func() {
			done <- newSource(t, "i", Declared{Every: 100 * time.Millisecond}).Run(ctx, nil, r)
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(r.Items()); n != 10 {
			t.Errorf("%d events in a second, want 10", n)
		}
		r.hold.Store(true)
		time.Sleep(time.Hour)
		r.hold.Store(false)
		gate <- struct{}{}
		synctest.Wait()
		before := len(r.Items())
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(r.Items()) - before; n < 9 || n > 11 {
			t.Errorf("%d events in the second after a stall, want 10", n)
		}
		if before > 25 {
			t.Errorf("%d events right after a stall of an hour", before)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// held is a receiver that can be held back.
type held struct {
	sourcetest.Receiver
	hold atomic.Bool
	gate chan struct{}
}

func (h *held) Emit(ctx context.Context, batch []boundary.Event) error {
	if h.hold.Load() {
		select {
		case <-h.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.Receiver.Emit(ctx, batch)
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{"i +": "expression_syntax", "j": "unknown_name", "now()": "not_allowed",
		"vars.x": "unknown_field"} {
		pos := spec.Pos{Line: 3, Column: 9, Path: "accumulators.a.source.generator.expr"}
		_, ds := New(Config{Declared: Declared{Expr: spec.Expr{Text: text, Pos: pos}}})
		if len(ds) != 1 || ds[0].Code != code || ds[0].Line != 3 || ds[0].Path != pos.Path {
			t.Errorf("%s: got %v, want %s", text, ds, code)
		}
	}
}
