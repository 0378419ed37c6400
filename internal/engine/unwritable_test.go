package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// unwritable is a store that takes nothing for as long as why is set.
func unwritable(why *atomic.Pointer[error]) *checkpointtest.Faulty {
	return checkpointtest.NewFaulty(memstore.New(), func(c checkpointtest.Call) checkpointtest.Fault {
		err := why.Load()
		if err == nil || c.Op != checkpointtest.OpAppendJournal && c.Op != checkpointtest.OpCommit {
			return checkpointtest.Fault{}
		}
		return checkpointtest.Fault{Outcome: checkpointtest.Fail, Err: *err}
	})
}

var errDiskFull = errors.New("database or disk is full")

// M29: while the disk is full a push to a journaled graph is answered within the time it has,
// and the answer says why; the events that were taken are durable once there is room.
func TestM29PushIsAnsweredWhileTheDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Pointer[error]
		b := newBed(t, lasting{unwritable(&full)}, &scripted{})
		defer b.close()
		b.apply(journaled, "g")
		full.Store(&errDiskFull)
		g := api.Ref{Tenant: "default", Name: "g"}
		for _, timeout := range []time.Duration{0, 400 * time.Millisecond, 3 * time.Second} {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, timeout)
			}
			began := time.Now()
			_, err := b.e.Push(ctx, g, "a", []json.RawMessage{[]byte("1")})
			cancel()
			most := timeout
			if most == 0 {
				most = 5 * time.Second // as a WebSocket's pushes have it
			}
			refused, ok := errors.AsType[*api.Error](err)
			if took := time.Since(began); !ok || took > most || refused.Status != 503 ||
				refused.Code != "not_durable" ||
				!strings.Contains(refused.Detail, "checkpoint_failing") ||
				!strings.Contains(refused.Detail, errDiskFull.Error()) {
				t.Errorf("a push with %v: after %v %v", timeout, took, err)
			}
		}
		full.Store(nil)
		time.Sleep(time.Second)
		if res := b.push("g", "a", "2"); !res.Durable {
			t.Errorf("with room again: %+v", res)
		}
		if s := b.summary("g"); s.Health != "live" || s.Counters.Consumed != 4 {
			t.Errorf("%s %+v", s.Health, s.Counters)
		}
	})
}

// While the disk is full a graph without a journal takes pushes at once; one whose queue is full
// refuses them within their time, and says of the store what is wrong with it.
func TestPushToAFullQueueNamesTheFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Pointer[error]
		b := newBed(t, lasting{unwritable(&full)}, &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential, capacity: 2 }, b: { strategy: sequential } }\n"+
			"reactor: { when: all }\nnodes: { n: { expr: '[a, b]' } }\noutputs: { o: { from: n, sink: { drop: {} } "+
			"} }\n"+
			"durability: { interval: 100ms }\n", "g")
		full.Store(&errDiskFull)
		if res := b.push("g", "a", "1", "2"); res.Accepted != 2 || res.Full {
			t.Errorf("%+v", res)
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		res, err := b.e.Push(ctx, api.Ref{Tenant: "default", Name: "g"}, "a", []json.RawMessage{[]byte("3")})
		if took := time.Since(began); err != nil || took > time.Second || !res.Full || res.Why == nil ||
			res.Why.Code != "checkpoint_failing" || !strings.Contains(res.Why.Detail, errDiskFull.Error()) {
			t.Errorf("after %v %+v, %v", took, res, err)
		}
		time.Sleep(2 * time.Second) // what was refused is counted with the next mark
		if c := b.summary("g").Counters; c.Received != 3 || c.Rejected != 1 || c.Queued != 2 {
			t.Errorf("%+v", c)
		}
		full.Store(nil)
		time.Sleep(time.Second)
	})
}

// M45: a graph whose checkpoints fail because the store is overloaded or away says which it is.
func TestM45HealthNamesWhatAilsTheStore(t *testing.T) {
	for code, cause := range map[string]error{
		"store_slow": checkpoint.ErrSlow, "store_unreachable": checkpoint.ErrUnreachable,
	} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var away atomic.Pointer[error]
				b := newBed(t, lasting{unwritable(&away)}, &scripted{})
				defer b.close()
				b.apply("graph: g\naccumulators: { a: {} }\noutputs: { o: { from: a, sink: { drop: {} } } }\n"+
					"durability: { interval: 100ms }\n", "g")
				err := fmt.Errorf("commit: %w", cause)
				away.Store(&err)
				b.push("g", "a", "1")
				time.Sleep(time.Second)
				s := b.summary("g")
				if s.Health != "degraded" || s.HealthReason == nil || s.HealthReason.Code != code ||
					!strings.Contains(s.HealthReason.Detail, cause.Error()) {
					t.Errorf("%s %+v", s.Health, s.HealthReason)
				}
				away.Store(nil)
				time.Sleep(time.Second)
				if s := b.summary("g"); s.Health != "live" {
					t.Errorf("%s %+v", s.Health, s.HealthReason)
				}
				// What became of a commit is not known: the graph is loaded anew, at once when the store is
				// there for that. How it waits for one that is not: TestM35StoreAwayIsNoFailure.
				err = fmt.Errorf("commit: %w: %w", checkpoint.ErrUnknownOutcome, cause)
				away.Store(&err)
				b.push("g", "a", "2")
				time.Sleep(500 * time.Millisecond)
				if s := b.summary("g"); s.Health != "live" || s.Incarnation < 2 {
					t.Errorf("%s %+v, incarnation %d", s.Health, s.HealthReason, s.Incarnation)
				}
				away.Store(nil)
			})
		})
	}
}
