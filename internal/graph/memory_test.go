package graph

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

const memoryYAML = `
nodes:
  smooth: { expr: 'ema(a.v, 3)' }
  change: { expr: '{ "by": delta(a.v), "was": lag(smooth, 2) }' }
  pick: { route: { fresh: 'dedupe(a.k, duration("10s"))', again: 'rolling_count(a.v, 4) > 2', rest: true } }
  check: { expr: 'a.bad ?? false ? 1 / 0 : rolling_sum(a.v, 3)', on_error: fail_epoch }
  tried: { expr: 'a.skip ?? false ? [rolling_max(a.v, 3), 1 % 0] : rolling_max(a.v, 3)', on_error: skip }
outputs:
  o: { from: change, sink: { drop: {} } }
`

// look is what an epoch showed.
func (h *harness) look() string {
	s := ""
	for i, n := range h.plan.Nodes() {
		r := h.r.Node(i)
		s += fmt.Sprintf("%s %v %v; ", n.Name, r.Status, r.Value)
	}
	return s
}

func cellwise(h *harness, plan *Plan) *State {
	h.t.Helper()
	st := plan.NewState()
	for i := range plan.Cells() {
		if err := plan.DecodeCell(st, i, h.plan.EncodeCell(h.st, i)); err != nil {
			h.t.Fatal(err)
		}
	}
	return st
}

func whole(h *harness, plan *Plan) *State {
	h.t.Helper()
	l, _, err := plan.ReadLayout(h.plan.AppendLayout(nil))
	if err != nil {
		h.t.Fatal(err)
	}
	frozen := h.plan.Freeze(h.st, make([]boundary.Value, h.plan.StateSize()))
	st := plan.NewState()
	if err := plan.DecodeState(st, l, h.plan.AppendState(nil, &frozen)); err != nil {
		h.t.Fatal(err)
	}
	return st
}

// M16, M21, M22, M28: what nodes remember goes on with committed epochs alone: not with those
// that fail or were an aside, not with a node that failed, and it survives a restart. Computing
// every node in every epoch changes nothing.
func TestM21MemoriesGoWithTheEpoch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		clean, shaken := start(t, "a* b", memoryYAML), start(t, "a* b", memoryYAML)
		shaken.e.FullRecompute = seed%3 == 0
		if seed%3 == 1 {
			shaken.shuffle = r
		}
		for i := range 40 {
			now := clean.e.Now.Add(time.Duration(r.IntN(6)) * time.Second)
			clean.e.Now, shaken.e.Now = now, now
			value := map[string]any{"v": r.IntN(20), "k": r.IntN(3), "skip": r.IntN(4) == 0}
			switch r.IntN(6) {
			case 0: // an epoch that fails: its input is taken back too
				before, version := shaken.e.Inputs[0], shaken.e.Versions[0]
				shaken.set("a", map[string]any{"v": 1000, "k": 9, "bad": true}).run().fails("not_finite", "check")
				shaken.e.Inputs[0], shaken.e.Versions[0] = before, version
			case 1: // an aside
				before, version := shaken.e.Inputs[0], shaken.e.Versions[0]
				shaken.e.Aside = true
				shaken.set("a", map[string]any{"v": 1000, "k": 9}).run()
				shaken.e.Aside, shaken.e.Inputs[0], shaken.e.Versions[0] = false, before, version
			case 2:
				shaken.st = cellwise(shaken, shaken.plan)
			case 3:
				shaken.st = whole(shaken, shaken.plan)
			case 4: // an epoch in which none of the nodes is due
				clean.set("b", i).fire()
				shaken.set("b", i).fire()
			}
			clean.set("a", value).fire()
			shaken.set("a", value).fire()
			if got, want := shaken.look(), clean.look(); got != want {
				t.Fatalf("seed %d, step %d:\n got %s\nwant %s", seed, i, got, want)
			}
		}
	}
}

// M33: a node that computes something else starts with nothing remembered; the others go on.
func TestM33MemoriesOfAChangedNode(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]func(*harness, *Plan) *State{"cells": cellwise, "state": whole} {
		old := start(t, "a*", "nodes: { one: { expr: delta(a) }, two: { expr: lag(a) } }\noutputs: {}\n")
		old.set("a", 5).fire().set("a", 7).fire().want("one ran 2; two ran 5")
		h := start(t, "a*", "nodes: { two: { expr: 'lag(a, 1)' }, one: { expr: delta(a) } }\noutputs: {}\n")
		if name == "cells" { // found by name, as the reactor does
			for i, c := range h.plan.Cells() {
				for k, o := range old.plan.Cells() {
					if o == c {
						if err := h.plan.DecodeCell(h.st, i, old.plan.EncodeCell(old.st, k)); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		} else {
			h.st = restore(old, h.plan)
		}
		h.e = old.e
		h.set("a", 10).fire().want("one ran 3; two ran null")
	}
}

// The cells that a commit changes are those of the nodes that took a step.
func TestM28MemoryCellsAreTouched(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", "nodes: { one: { expr: lag(a) }, two: { expr: 'rolling_max(b, 3)' } }\noutputs: {}\n")
	h.set("a", 1).set("b", 9).fire().set("b", 2).fire().want("one idle null; two cut_off 9")
	var cells []Cell
	for _, i := range touched(&h.r) {
		cells = append(cells, h.plan.Cells()[i])
	}
	if fmt.Sprint(cells) != "[{memory two} {stamp }]" {
		t.Errorf("touched %v", cells)
	}
}

// M21: a node that fails, or that reads something absent, takes no step.
func TestM21FailedNodeTakesNoStep(t *testing.T) {
	t.Parallel()
	h := start(t, "a* b", "nodes: { n: { expr: '[rolling_sum(a, 9), 10 / a, b]', on_error: skip } }\noutputs: {}\n")
	h.set("a", 5).fire().want("n skipped") // b is absent
	h.set("b", 1).set("a", 2).fire().want("n ran [2,5,1]")
	h.set("a", 0).fire().want("n failed")
	h.set("a", 1).fire().want("n ran [3,10,1]")
}
