package reactor

import (
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

const (
	bIsPassive = "  b: { passive: true }\n"
	bIsTen     = "  b: { passive: true, default: 10 }\n"
	bIsTwenty  = "  b: { passive: true, default: 20 }\n"
)

// post hands over a boundary of one event that has no position, as what is pushed.
func (r *rig) post(name, key string, x any) {
	r.t.Helper()
	r.sent[name]++
	v := value(r.t, x)
	b := boundary.Boundary{Value: v, At: r.now, Events: 1, Size: v.Size(), Raw: v.AppendJSON(nil)}
	if key != "" {
		b.Key = boundary.KeyOf(boundary.String(key))
	}
	r.c.Admit(r.now, r.input(name), &accumulator.Handoff{Boundaries: []boundary.Boundary{b}, Mark: accumulator.Mark{
		Counters: accumulator.Counters{Received: r.sent[name]}, LastEventAt: r.now}}, 0)
}

// with runs an epoch on values that replace the cache.
func (r *rig) with(key string, values map[string]int) string {
	r.t.Helper()
	all := make([]boundary.Value, len(r.c.cfg.Inputs))
	for name, x := range values {
		all[r.input(name)] = value(r.t, x)
	}
	k := boundary.Key("")
	if key != "" {
		k = boundary.KeyOf(boundary.String(key))
	}
	if _, err := r.c.FireWith(r.now, k, all, true); err != nil {
		r.t.Fatal(err)
	}
	return r.released()
}

// M33, M28: a value that has arrived stays what it is whatever the default is worth, also where it had no position and
// was equal to the default.
func TestM33WhatHasArrivedIsNoDefault(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(r *rig) string{
		"pushed": func(r *rig) string {
			r.post("b", "", 10)
			r.push("a", 1)
			return r.fire()
		},
		"given with a command": func(r *rig) string { return r.with("", map[string]int{"a": 1, "b": 10}) },
	} {
		for to, after := range map[string]string{"another": bIsTwenty, "none": bIsPassive} {
			t.Run(name+", "+to, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, updated(bIsTen, ""))
				r.want(give(r), "out=11@1")
				cells := map[string]checkpoint.Cell{}
				r.reload(cells)
				r.reload(cells, into(testConfig(t, updated(after, ""))))
				r.reload(cells)
				r.start()
				r.push("c", 5)
				r.want(r.fire(), "")
				r.push("a", 1)
				r.want(r.fire(), "out=22@3")
			})
		}
	}
}

// M11, M28: an input that a command has left out has no value, and no default stands for it after a restart either.
func TestM11WhatACommandHasTakenAwayStaysAway(t *testing.T) {
	t.Parallel()
	for key, opts := range map[string][]option{"": nil, "p": {keyed(nil)}} {
		r := newRig(t, updated(bIsTen, ""), opts...)
		r.want(r.with(key, map[string]int{"a": 1}), "out=1@1")
		cells := map[string]checkpoint.Cell{}
		r.reload(cells)
		r.reload(cells)
		r.start()
		r.give("a", key, 1)
		r.want(r.fire(), "out=2@2")
		r.give("b", key, 10)
		r.give("a", key, 1)
		r.want(r.fire(), "out=13@3")
	}
}

// M33, M13: in each key the default of the newest declaration stands for what it has no value of, and what rests on it
// runs once; a key that has a value keeps it.
func TestM33DefaultsOfKeysFollow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, cells map[string]checkpoint.Cell){
		"":                              func(*testing.T, map[string]checkpoint.Cell) {},
		"written by an earlier release": asBefore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, updated(bIsTen, ""), keyed(nil))
			cells := map[string]checkpoint.Cell{}
			r.give("a", "p", 1)
			r.want(r.fire(), "out=11@1")
			r.post("b", "q", 10)
			r.give("a", "q", 1)
			r.want(r.fire(), "out=11@2")
			r.reload(cells)
			change(t, cells)
			c := func(key, want string) {
				t.Helper()
				r.give("c", key, 1)
				r.want(r.fire(), want)
				r.give("c", key, 1)
				r.want(r.fire(), "") // once
			}
			update := func(b string) {
				t.Helper()
				r.reload(cells, into(testConfig(t, updated(b, ""), keyed(nil))))
				r.reload(cells) // and nothing has run
				r.start()
			}
			if name != "" { // what has been read is not written anew: it is read again as it is
				head := checkpoint.Head{Epoch: r.c.Epoch(), Meta: r.c.meta()}
				r.c = NewCore(r.c.cfg)
				if _, err := r.c.Restore(head, listCells(cells)); err != nil {
					t.Fatal(err)
				}
			}
			update(bIsTwenty)
			c("p", "out=32@3") // 11 + 1 + 20
			c("q", "")
			r.give("a", "q", 1)
			r.want(r.fire(), "out=22@7")
			update(bIsPassive)
			c("p", "out=33@8")
			c("q", "")
			update(bIsTen)
			c("p", "out=44@12")
			c("q", "")
		})
	}
}

// asBefore writes the cells of keys as earlier releases have: with a default in the place of a value that has not come.
func asBefore(t *testing.T, cells map[string]checkpoint.Cell) {
	for name, cell := range cells {
		if cell.Kind != form.CellKey {
			continue
		}
		r := form.Reader{Rest: cell.Data}
		head := r.KeyHead()
		dst := head.Append(nil)
		for range 3 {
			s := r.Slot()
			if s.Stands != 0 {
				s.Cur, s.Stands = value(t, 10), 0
			}
			s.Given = false
			dst = s.Append(dst)
		}
		cell.Data = append(dst, r.Rest...)
		cells[name] = cell
	}
}

// M33: of a checkpoint of an earlier release, which has a default as if it had arrived, too, what differs from the
// default has arrived.
func TestM33DefaultsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	for cached, want := range map[int]string{10: "out=32@2", 12: ""} {
		r := newRig(t, updated(bIsTen, ""))
		r.push("a", 1)
		r.want(r.fire(), "out=11@1")
		cells := map[string]checkpoint.Cell{}
		r.reload(cells)
		before := form.Slot{Cur: value(t, cached), Version: 1}
		cells["in|b|"] = checkpoint.Cell{Kind: form.CellInput, Name: "b", Data: before.AppendShared(nil)}
		head := checkpoint.Head{Epoch: r.c.Epoch(), Meta: r.c.meta()}
		r.c = NewCore(r.c.cfg)
		if _, err := r.c.Restore(head, listCells(cells)); err != nil {
			t.Fatal(err)
		}
		// What it is stays known when the default comes to be equal to it.
		r.reload(cells, into(testConfig(t, updated("  b: { passive: true, default: 12 }\n", ""))))
		r.reload(cells, into(testConfig(t, updated(bIsTwenty, ""))))
		r.start()
		r.push("c", 1)
		r.want(r.fire(), want)
	}
}

// M20, M33: a default has not arrived, also when an update has made it another.
func TestM33ADefaultIsNotFresh(t *testing.T) {
	t.Parallel()
	doc := func(b string) string {
		return "graph: g\naccumulators:\n  a: { strategy: sequential }\n" + b +
			"nodes:\n  n: { expr: '[a, b, fresh(b)]' }\noutputs: { out: { from: n, sink: { drop: {} } } }\n"
	}
	for name, opts := range map[string][]option{"": nil, "shared": {keyed(nil), global("b")}, "own": {keyed(nil)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := []string{"p", "q", "r"}
			if name == "" {
				keys = []string{"", "", ""}
			}
			r := newRig(t, doc(bIsTen), opts...)
			r.give("a", keys[0], 1)
			r.want(r.fire(), "out=[1,10,false]@1")
			cells := map[string]checkpoint.Cell{}
			r.reload(cells, into(testConfig(t, doc(bIsTwenty), opts...)))
			r.start()
			r.give("a", keys[0], 2)
			r.want(r.fire(), "out=[2,20,false]@2")
			r.reload(cells)
			r.start()
			r.give("a", keys[1], 3)
			r.want(r.fire(), "out=[3,20,false]@3")
			b := keys[2]
			if name == "shared" {
				b = ""
			}
			r.post("b", b, 20)
			r.give("a", keys[2], 4)
			r.want(r.fire(), "out=[4,20,true]@4")
		})
	}
}
