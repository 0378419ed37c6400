package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
	"pgregory.net/rapid"
)

// plainly is a table as one would write it down: the oracle.
type plainly struct {
	rows    map[int]plainRow
	changes int
	owed    int64
	evicted int64
	max     int
	ttl     time.Duration
}

type plainRow struct {
	value, seq int
	changed    time.Time
}

func (p *plainly) oldest() (key int, ok bool) {
	keys := slices.Collect(maps.Keys(p.rows))
	if len(keys) == 0 {
		return 0, false
	}
	return slices.MinFunc(keys, func(a, b int) int { return cmp.Compare(p.rows[a].seq, p.rows[b].seq) }), true
}

func (p *plainly) put(now time.Time, key, value int) {
	p.owed++
	if r, ok := p.rows[key]; ok && r.value == value && p.ttl == 0 {
		return
	}
	p.changes++
	p.rows[key] = plainRow{value, p.changes, now}
	if len(p.rows) > p.max {
		old, _ := p.oldest()
		delete(p.rows, old)
		p.evicted++
	}
}

func (p *plainly) remove(key int) {
	p.owed++
	delete(p.rows, key)
}

func (p *plainly) tick(now time.Time) {
	for p.ttl > 0 {
		key, ok := p.oldest()
		if !ok || p.rows[key].changed.Add(p.ttl).After(now) {
			return
		}
		delete(p.rows, key)
	}
}

func (p *plainly) clone() plainly {
	c := *p
	c.rows = maps.Clone(p.rows)
	return c
}

func (p *plainly) String() string {
	var text []string
	for k, r := range p.rows {
		text = append(text, fmt.Sprintf("%d=%d", k, r.value))
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

// shown is a table in the same words.
func shown(rows boundary.Rows) string {
	var text []string
	for k, v := range rows.All() {
		text = append(text, string(k)+"="+v.String())
		if found, ok := rows.Row(k.Value()); !ok || !boundary.Equal(found, v) {
			text = append(text, "and not found")
		}
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

// M3, M28: a table is what a plain map is, whatever is changed, deleted, forgotten and evicted; also in
// every snapshot while the table goes on, after going back, after a restart from a checkpoint that was
// written as what had changed, and made of what changed between two moments.
func TestTableIsWhatItIsPlainly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		max := rapid.SampledFrom([]int{3, 40, 1000}).Draw(rt, "max")
		ttl := rapid.SampledFrom([]time.Duration{0, 20 * time.Second}).Draw(rt, "ttl")
		prog := compiled(t, Declared{MaxRows: max, TTL: ttl})
		rowsOf := prog.Table
		f := prog.New()
		want := &plainly{rows: map[int]plainRow{}, max: max, ttl: ttl}
		now, kept := start, &store{}
		var moments []func()
		last := f.State() // as of the last look
		for range rapid.IntRange(1, 120).Draw(rt, "steps") {
			key := rapid.IntRange(0, 200).Draw(rt, "key")
			switch rapid.IntRange(0, 12).Draw(rt, "what") {
			default:
				v := rapid.IntRange(0, 3).Draw(rt, "value")
				put(t, f, now, boundary.Int(int64(key)), boundary.Int(int64(v)))
				want.put(now, key, v)
			case 1:
				put(t, f, now, boundary.Int(int64(key)), boundary.Null())
				want.remove(key)
			case 2:
				now = now.Add(time.Duration(rapid.IntRange(0, 15).Draw(rt, "wait")) * time.Second)
				f.Tick(now, nil)
				want.tick(now)
			case 3:
				for k := range 90 { // leaves are split and joined
					put(t, f, now, boundary.Int(int64(k)), boundary.Int(7))
					want.put(now, k, 7)
				}
			case 4:
				for k := range 80 {
					put(t, f, now, boundary.Int(int64(k)), boundary.Null())
					want.remove(k)
				}
			case 5: // somebody reads it later
				if rows, b := handed(f); b != nil {
					if b.Events != want.owed {
						rt.Fatalf("the boundary accounts for %d events, want %d", b.Events, want.owed)
					}
					want.owed = 0
					then := want.String()
					moments = append(moments, func() {
						if got := shown(rows); got != then {
							rt.Fatalf("a snapshot became\n%s, it was\n%s", got, then)
						}
					})
				}
			case 6: // undone
				before, was := f.State(), want.clone()
				put(t, f, now, boundary.Int(int64(key)), boundary.Int(9))
				f.Tick(now.Add(5*time.Second), nil)
				f.Resume(before)
				*want = was
			case 7: // restarted
				kept.seal(f)
				s, err := rowsOf.Decode(kept.head, kept.parts)
				if err != nil {
					rt.Fatal(err)
				}
				f = prog.New()
				f.Resume(s)
				kept.last, last = s, s
			case 8: // restarted of one piece
				s, err := f.Decode(f.State().AppendBinary(nil))
				if err != nil {
					rt.Fatal(err)
				}
				f = prog.New()
				f.Resume(s)
				kept, last = &store{}, s
			case 9: // made of what has changed
				is := f.State()
				s, err := rowsOf.Redo(last, rowsOf.AppendChanges(nil, last, is))
				if err != nil {
					rt.Fatal(err)
				}
				if !bytes.Equal(s.AppendBinary(nil), is.AppendBinary(nil)) {
					rt.Fatal("what changed makes another table")
				}
				last = is
			}
			rows, _ := rowsOf.Value(f.State()).AsTable()
			if got := shown(rows); got != want.String() {
				rt.Fatalf("got\n%s, want\n%s", got, want)
			}
			if f.Open() != want.owed {
				rt.Fatalf("%d events are owed, want %d", f.Open(), want.owed)
			}
			if n, _, evicted := f.State().(fold.Keyed).Keys(); n != len(want.rows) || evicted != want.evicted {
				rt.Fatalf("%d rows and %d evicted, want %d and %d", n, evicted, len(want.rows), want.evicted)
			}
		}
		for _, look := range moments {
			look()
		}
	})
}

// M28: a checkpoint costs what has changed, and not what there is.
func TestCheckpointOfATableCostsWhatChanged(t *testing.T) {
	const rows, changed = 20_000, 10
	f, s := compiled(t, Declared{}).New(), &store{}
	for k := range rows {
		put(t, f, start, boundary.Int(int64(k)), boundary.Int(1))
	}
	s.seal(f)
	if s.wrote < rows/leafRows || s.wrote > rows/4 {
		t.Errorf("%d parts for %d rows", s.wrote, rows)
	}
	for k := range changed {
		put(t, f, start, boundary.Int(int64(k*1999)), boundary.Int(2))
	}
	s.seal(f)
	if s.wrote > changed {
		t.Errorf("%d parts are written for %d changes", s.wrote, changed)
	}
	s.seal(f)
	if s.wrote != 0 {
		t.Errorf("%d parts are written for nothing", s.wrote)
	}
}

// M3: rows have at most max_bytes together, and no more than a boundary by itself.
func TestRowsAreBoundedInBytes(t *testing.T) {
	f := compiled(t, Declared{MaxBytes: 500}).New()
	for k := range 100 {
		if bad := put(t, f, start, boundary.Int(int64(k)), boundary.String(strings.Repeat("x", 90))); bad != nil {
			t.Fatal(bad)
		}
	}
	rows, _ := handed(f)
	if rows.Len() != 5 {
		t.Errorf("%d rows are kept", rows.Len())
	}
	if _, ok := rows.Row(boundary.Int(99)); !ok {
		t.Error("the newest was evicted")
	}
	bad := put(t, f, start, boundary.Int(1), boundary.String(strings.Repeat("x", 600)))
	if bad == nil || bad.Code != "limit_exceeded" {
		t.Errorf("a row that is too large: %v", bad)
	}
	if _, b := handed(f); b != nil {
		t.Error("a refused event has changed something")
	}
}

// M3: keys are as everywhere: 1 and 1.0 are one, several make a list.
func TestKeysOfRows(t *testing.T) {
	p := compiled(t, Declared{Key: []spec.Expr{{Text: "event.a"}, {Text: "event.b"}}})
	f := p.New()
	pair := func(a string, b float64) boundary.Value {
		return boundary.List([]boundary.Value{boundary.String(a), boundary.Float(b)})
	}
	put(t, f, start, pair("x", 1), boundary.Int(5))
	rows, _ := handed(f)
	same := boundary.List([]boundary.Value{boundary.String("x"), boundary.Int(1)})
	if v, ok := rows.Row(same); !ok || v.String() != "5" {
		t.Errorf("a composite key finds %s", v)
	}
	nobody := []boundary.Value{boundary.String("x"), boundary.List(nil), pair("x", 1.5), boundary.Null(), {}}
	for _, none := range nobody {
		if _, ok := rows.Row(none); ok {
			t.Errorf("%s finds a row", none)
		}
	}
	if bad := put(t, f, start, boundary.Float(1.5), boundary.Int(5)); bad == nil || bad.Code != "bad_key" {
		t.Errorf("1.5 as a key: %v", bad)
	}
}

// A look-up by what most keys are allocates nothing, and finds what any other does.
func TestPlainKeysAreKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := boundary.Int(rapid.Int64().Draw(rt, "number"))
		if rapid.Bool().Draw(rt, "text") {
			key = boundary.String(rapid.String().Draw(rt, "key"))
		}
		want, err := appendKey(nil, key)
		got, plain := appendPlainKey(make([]byte, 0, 64), key)
		if err != nil || plain && !bytes.Equal(got, want) {
			rt.Fatalf("%s is not %s (%v)", got, want, err)
		}
	})
	f := compiled(t, Declared{}).New()
	key := boundary.String("m0000001")
	put(t, f, start, key, boundary.Int(1))
	rows, _ := handed(f)
	if n := testing.AllocsPerRun(100, func() { rows.Row(key) }); n != 0 {
		t.Errorf("a look-up allocates %v times", n)
	}
}

// A damaged state is told, and never read as another table.
func TestDamagedTableIsTold(t *testing.T) {
	p := compiled(t, Declared{})
	f, s := p.New(), &store{}
	for k := range 100 {
		put(t, f, start, boundary.Int(int64(k)), boundary.Int(1))
	}
	s.seal(f)
	damage := map[string]func(head []byte, parts map[string][]byte) ([]byte, map[string][]byte){
		"a part is missing": func(h []byte, p map[string][]byte) ([]byte, map[string][]byte) {
			delete(p, slices.Sorted(maps.Keys(p))[0])
			return h, p
		},
		"a part is elsewhere": func(h []byte, p map[string][]byte) ([]byte, map[string][]byte) {
			name := slices.Sorted(maps.Keys(p))[0]
			p["r3333"] = p[name]
			delete(p, name)
			return h, p
		},
		"a part is cut short": func(h []byte, p map[string][]byte) ([]byte, map[string][]byte) {
			name := slices.Sorted(maps.Keys(p))[0]
			p[name] = p[name][:len(p[name])-1]
			return h, p
		},
		"the head is another's": func(_ []byte, p map[string][]byte) ([]byte, map[string][]byte) {
			return []byte("f\x01\x00\x00\x00"), p
		},
		"the head is of a later version": func(h []byte, p map[string][]byte) ([]byte, map[string][]byte) {
			return append([]byte("t\x02"), h[2:]...), p
		},
	}
	for what, do := range damage {
		head, parts := do(slices.Clone(s.head), maps.Clone(s.parts))
		if _, err := p.Table.Decode(head, parts); !errors.Is(err, fold.ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := f.Decode(fold.Join(head, parts)); !errors.Is(err, fold.ErrForeign) {
			t.Errorf("%s, joined: %v", what, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	p := compiled(f, Declared{})
	t, s := p.New(), &store{}
	for k := range 40 {
		put(f, t, start, boundary.Int(int64(k)), boundary.String("v"))
	}
	s.seal(t)
	whole := t.State().AppendBinary(nil)
	f.Add(whole)
	f.Add(s.head)
	f.Add(fold.Join(s.head, s.parts))
	f.Add(p.Table.AppendChanges(nil, nil, t.State()))
	f.Fuzz(func(t *testing.T, data []byte) {
		fresh := p.New()
		if state, err := fresh.Decode(data); err == nil {
			again, err := fresh.Decode(state.AppendBinary(nil))
			if err != nil || !bytes.Equal(again.AppendBinary(nil), state.AppendBinary(nil)) {
				t.Fatalf("what was read is not read again: %v", err)
			}
			fresh.Resume(state)
			put(t, fresh, start, boundary.Int(1), boundary.Int(1))
			fresh.Tick(start, nil)
		}
		if state, err := p.Table.Redo(nil, data); err == nil && len(state.AppendBinary(nil)) == 0 {
			t.Fatal("nothing was made of changes")
		}
	})
}
