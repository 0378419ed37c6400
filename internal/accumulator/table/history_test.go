package table

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"pgregory.net/rapid"
)

// asOf is a table that keeps what it was.
func asOf(t testing.TB, c Declared) *fold.Program {
	t.Helper()
	if c.AsOf = asOfEvent; c.MaxVersions == 0 {
		c.MaxVersions = defaultMaxVersions
	}
	return compiled(t, c)
}

// putAt changes the row of a key by an event that has happened at a time; a null value deletes it.
func putAt(t testing.TB, f fold.Fold, now, at time.Time, key, value boundary.Value) {
	t.Helper()
	in := &fold.Input{Value: value, Event: &boundary.Event{}, Facts: &fold.Facts{Key: key}, At: at}
	if _, said := f.Add(now, in, nil); said != fold.Folded {
		t.Fatal(in.Bad)
	}
}

// plainPast is every change that there was: what the table was at a time is found by doing them again.
type plainPast struct {
	list []plainChange
}

type plainChange struct {
	at, key, value int // value -1 deletes
}

// change adds a change, unless it changes nothing. None is before another.
func (p *plainPast) change(c plainChange) {
	was, ok := p.rows(math.MaxInt)[c.key]
	if ok == (c.value >= 0) && was == max(c.value, 0) {
		return
	}
	if n := len(p.list); n > 0 {
		c.at = max(c.at, p.list[n-1].at)
	}
	p.list = append(p.list, c)
}

func (p *plainPast) rows(at int) map[int]int {
	rows := map[int]int{}
	for _, c := range p.list {
		if c.at > at {
			break
		}
		if rows[c.key] = c.value; c.value < 0 {
			delete(rows, c.key)
		}
	}
	return rows
}

// then is what a table says that it was, and whether it knows.
func then(p *fold.Program, v boundary.Value, at int) (string, bool) {
	rows, _ := p.Table.AsOf(v, int64(at)).AsTable()
	all := map[int]int{}
	for k, v := range rows.All() {
		key, _ := k.Value().AsInt()
		value, _ := v.AsInt()
		all[int(key)] = int(value)
		if row, ok := rows.Row(k.Value()); !ok || !boundary.Equal(row, v) {
			return "not found", true
		}
	}
	if rows.Len() != len(all) {
		return "miscounted", true
	}
	return fmt.Sprint(all), !boundary.Forgotten(rows)
}

// M3, M28: a table is at every time what the changes up to then make of it: in each snapshot, after going back,
// after a restart from a checkpoint that was written as what had changed, and made again of what changed
// between two moments. What it has forgotten it does not answer.
func TestTableIsWhatItWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]int{1, 5, 70, 1000}).Draw(rt, "max_versions")
		keys := rapid.SampledFrom([]int{3, 90}).Draw(rt, "keys")
		p := asOf(t, Declared{MaxVersions: most})
		f, want, kept := p.New(), &plainPast{}, &store{}
		now := 1000
		last, redone := f.State(), f.State()
		check := func(v boundary.Value, upTo int) {
			known := 0
			for at := max(now-300, 990); at <= now; at++ {
				got, ok := then(p, v, at)
				if !ok {
					continue
				}
				known++
				past := plainPast{want.list[:upTo]}
				if was := fmt.Sprint(past.rows(at)); got != was {
					rt.Fatalf("at %d it was\n%s\nwant\n%s", at, got, was)
				}
			}
			if _, ok := then(p, v, now); known == 0 || !ok {
				rt.Fatal("it does not know what it is")
			}
		}
		var moments []func()
		change := func() {
			key, value := rapid.IntRange(0, keys).Draw(rt, "key"), rapid.IntRange(-1, 3).Draw(rt, "value")
			at, stamp := now, now
			if rapid.IntRange(0, 5).Draw(rt, "late") == 0 {
				at, stamp = now-rapid.IntRange(1, 50).Draw(rt, "by"), now+1
			}
			v := boundary.Int(int64(value))
			if value < 0 {
				v = boundary.Null()
			}
			putAt(t, f, time.Unix(0, int64(now)), time.Unix(0, int64(at)), boundary.Int(int64(key)), v)
			want.change(plainChange{stamp, key, value})
		}
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			switch rapid.IntRange(0, 11).Draw(rt, "what") {
			default:
				change()
			case 0, 1, 2:
				now += rapid.IntRange(1, 4).Draw(rt, "wait")
			case 3:
				s, n := f.State(), len(want.list)
				moments = append(moments, func() { check(p.Table.Value(s), n) })
			case 4:
				s, n := f.State(), len(want.list)
				change()
				f.Resume(s)
				want.list = want.list[:n]
			case 5:
				kept.seal(f)
				f = p.New()
				s, err := p.Table.Decode(kept.head, maps.Clone(kept.parts))
				if err != nil {
					rt.Fatal(err)
				}
				kept.last, last, redone = s, s, s
				f.Resume(s)
			case 6:
				kept.seal(f)
			case 7:
				s, err := p.New().Decode(f.State().AppendBinary(nil))
				if err != nil {
					rt.Fatal(err)
				}
				check(p.Table.Value(s), len(want.list))
			case 8:
				after := f.State()
				s, err := p.Table.Redo(redone, p.Table.AppendChanges(nil, last, after))
				if err != nil {
					rt.Fatal(err)
				}
				if string(s.AppendBinary(nil)) != string(after.AppendBinary(nil)) {
					rt.Fatal("made again, the table is another one")
				}
				last, redone = after, s
			}
		}
		check(p.Table.Value(f.State()), len(want.list))
		for _, m := range moments {
			m()
		}
	})
}

// M3: what is kept of the past is bounded by max_versions and, together with the rows, by max_bytes.
func TestPastIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []Declared{{MaxVersions: 10}, {MaxBytes: 10 * (changeBytes + 30)}} {
		p := asOf(t, c)
		f := p.New()
		for n := range 1000 {
			at := time.Unix(0, int64(n))
			putAt(t, f, at, at, boundary.Int(int64(n%7)), boundary.Int(int64(n)))
		}
		s := f.State().(*handle)
		past, _ := s.History()
		n, bytes, since := past.Versions, past.Bytes, past.Since.UnixNano()
		if n < 5 || n > 10 || bytes > int64(n)*(changeBytes+30) || since != int64(1000-n-1) {
			t.Errorf("%+v: %d versions of %d bytes since %d", c, n, bytes, since)
		}
		v := p.Table.Value(s)
		if got, ok := then(p, v, int(since)); !ok || got == "map[]" {
			t.Errorf("the oldest that is known is %s", got)
		}
		if got, ok := then(p, v, int(since)-1); ok {
			t.Errorf("before it is %s", got)
		}
		if got, ok := then(p, v, math.MaxInt64); !ok || got == "map[]" {
			t.Errorf("the newest is %s", got)
		}
	}
}

// M28: a checkpoint writes of the past what has come to it, and not all of it.
func TestPastIsWrittenOnce(t *testing.T) {
	t.Parallel()
	p := asOf(t, Declared{MaxVersions: 5000})
	f, kept, now := p.New(), &store{}, 0
	change := func(times int) {
		for range times {
			now++
			at := time.Unix(0, int64(now))
			putAt(t, f, at, at, boundary.Int(int64(now%7)), boundary.Int(int64(now)))
		}
	}
	change(6000)
	kept.seal(f)
	change(3)
	kept.seal(f)
	if parts := len(kept.parts); kept.wrote > 3 || parts < 70 || parts > 85 {
		t.Errorf("%d of %d parts were written for 3 changes", kept.wrote, parts)
	}
}

// M33: a table that begins to keep what it was knows nothing of before its newest change, and one that keeps it
// no more has it deleted.
func TestPastBeginsAndEnds(t *testing.T) {
	t.Parallel()
	plain, past := compiled(t, Declared{}), asOf(t, Declared{})
	for _, c := range []struct{ from, to *fold.Program }{{plain, past}, {past, plain}} {
		f, kept := c.from.New(), &store{}
		for n := range 200 {
			at := time.Unix(0, int64(n))
			putAt(t, f, at, at, boundary.Int(int64(n%7)), boundary.Int(int64(n)))
		}
		last := f.State()
		kept.seal(f)
		s, err := c.to.Table.Decode(kept.head, kept.parts)
		if err != nil {
			t.Fatal(err)
		}
		g := c.to.New()
		g.Resume(s)
		kept.last = s
		putAt(t, g, time.Unix(0, 300), time.Unix(0, 300), boundary.Int(3), boundary.Int(1))
		kept.seal(g)
		again, err := c.to.Table.Decode(kept.head, kept.parts)
		if err != nil {
			t.Fatal(err)
		}
		if string(again.AppendBinary(nil)) != string(g.State().AppendBinary(nil)) {
			t.Error("after a restart it is another")
		}
		_, unknown := then(c.to, c.to.Table.Value(again), 198)
		if was, _ := then(c.to, c.to.Table.Value(again), 299); c.to == past && (unknown || was == "map[]") ||
			c.to == plain && len(kept.parts) != 1 {
			t.Errorf("it was %s, and has %d parts", was, len(kept.parts))
		}
		// A journal that was written before says the same.
		if _, err := c.to.Table.Redo(nil, c.from.Table.AppendChanges(nil, nil, last)); err != nil {
			t.Error(err)
		}
		if _, err := c.to.New().Decode(last.AppendBinary(nil)); err != nil {
			t.Error(err)
		}
	}
}

// M28: what is damaged is told.
func TestDamagedPastIsRefused(t *testing.T) {
	t.Parallel()
	p := asOf(t, Declared{})
	f := p.New()
	for n := range 100 {
		at := time.Unix(0, int64(n))
		putAt(t, f, at, at, boundary.Int(int64(n%7)), boundary.Int(int64(n)))
	}
	kept := &store{}
	kept.seal(f)
	for name := range kept.parts {
		less := maps.Clone(kept.parts)
		delete(less, name)
		if _, err := p.Table.Decode(kept.head, less); !errors.Is(err, fold.ErrForeign) {
			t.Errorf("without %s: %v", name, err)
		}
		less[name] = kept.parts[name][:len(kept.parts[name])-1]
		if _, err := p.Table.Decode(kept.head, less); err == nil {
			t.Errorf("%s cut short is read", name)
		}
	}
}
