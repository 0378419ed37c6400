package reader_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/source/sourcetest"
)

// heard is a tape that keeps what it is told of, and looks when it is asked.
type heard struct {
	*tape
	mu      *sync.Mutex
	durable *[]string
}

func (h heard) Looks() bool                { return true }
func (h heard) Lag() (n int64, known bool) { return 17, true }

func (h heard) Mirrors() bool { return true }

func (h heard) Durable(at func() []boundary.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*h.durable = append(*h.durable, fmt.Sprint(at()))
	go at() // it may ask at any time, whatever is said meanwhile
}

func (h heard) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	asker := accumulator.AskerOf(out)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-asker.Asked():
			asker.Looked(asker.Look())
		}
	}
}

// asking is a shard that asks for looks.
type asking struct {
	shard
	asks          chan struct{}
	asked, looked int64
}

func (a *asking) Asked() <-chan struct{} { return a.asks }

func (a *asking) Look() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func (a *asking) Looked(look int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looked = look
}

func (a *asking) ask(look int64) {
	a.mu.Lock()
	a.asked = look
	a.mu.Unlock()
	a.asks <- struct{}{}
}

// M26, M49: a look that one shard asks for is everybody's: each hears that what it has asked for itself is done.
func TestM26ALookAnswersAllWhoHaveAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0, func(r *rig) accumulator.Source { return heard{tape: &tape{rig: r}} })
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		all := []*asking{{asks: make(chan struct{}, 1)}, {asks: make(chan struct{}, 1)}}
		for _, a := range all {
			a.at = map[string]boundary.Position{}
			source, err := r.reader.Source(0)
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := source.(accumulator.Looker); !ok || !s.Looks() {
				t.Error("it does not look")
			}
			wait.Go(func() { _ = source.Run(ctx, nil, a) })
		}
		settle()
		for look := int64(1); look < 4; look++ {
			all[1].mu.Lock()
			all[1].asked = 10 * look // has asked, and its word is on the way still
			all[1].mu.Unlock()
			all[0].ask(look)
			settle()
			if all[0].looked != look || all[1].looked != 10*look {
				t.Errorf("after look %d they have heard of %d and %d", look, all[0].looked, all[1].looked)
			}
		}
		stop()
		wait.Wait()
	})
}

// M29, M49: what the source is told to be durable is the least of what its shards have, once all have said so.
func TestM29WhatAllShardsHaveIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		var mu sync.Mutex
		r := newRig(t, 0, func(r *rig) accumulator.Source {
			return heard{tape: &tape{rig: r}, mu: &mu, durable: &said}
		})
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		var all []accumulator.Mirror
		for range 2 {
			source, err := r.reader.Source(0)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, source.(accumulator.Mirror))
			wait.Go(func() { _ = source.Run(ctx, nil, &shard{at: map[string]boundary.Position{}}) })
		}
		settle()
		if !all[0].Mirrors() || !all[1].Mirrors() {
			t.Error("the shards say nothing of what they have durable, though somebody is told")
		}
		all[0].Durable(sourcetest.At(at(0, 10), at(1, 10)))
		all[1].Durable(sourcetest.At(at(1, 20), at(0, 5)))
		all[0].Durable(sourcetest.At(at(0, 30), at(1, 30)))
		if want := "[[] [s/0#x@5 s/1#x@10] [s/0#x@5 s/1#x@20]]"; fmt.Sprint(said) != want {
			t.Errorf("it was told %v, want %s", said, want)
		}
		if n, known := all[1].(accumulator.LagTeller).Lag(); n != 17 || !known {
			t.Errorf("lag %d, %v", n, known)
		}
		stop()
		wait.Wait()
		if n, known := all[1].(accumulator.LagTeller).Lag(); n != 17 || !known { // as its own source says
			t.Errorf("lag %d, %v", n, known)
		}
		said = nil
		all[1].Durable(sourcetest.At(at(0, 40)))
		all[1].Durable(sourcetest.At(at(0, 50)))
		if want := "[[s/0#x@40] [s/0#x@50]]"; fmt.Sprint(said) != want {
			t.Errorf("its own source was told %v, want %s", said, want)
		}
	})
}
