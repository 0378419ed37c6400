package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/dal/rules"
)

// M43, M37: a taking of the graph that the store has, and whose answer was lost, is no crash of
// this process. Nothing of it is told, however many were lost, and a crash beside it is told as one.
func TestM43LostAnswerOfATaking(t *testing.T) {
	lost := checkpointtest.Fault{Outcome: checkpointtest.UnknownApplied}
	away := checkpointtest.Fault{Outcome: checkpointtest.UnknownLost}
	for name, faults := range map[string][]checkpointtest.Fault{
		"one": {lost}, "several": {lost, lost, lost}, "and some that did not get there": {away, lost, away, away},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faulty := checkpointtest.NewFaulty(memstore.New(), nil)
				b := newBed(t, lasting{faulty}, &scripted{})
				defer b.close()
				faulty.Script(checkpointtest.OpAcquire, faults...)
				b.apply(owned, "g")
				b.push("g", "a", "1")
				time.Sleep(time.Minute)
				if s := b.summary("g"); s.Health != "live" || len(b.uncleanStarts("g")) > 0 {
					t.Fatalf("%s, unclean starts %v", s.Health, b.uncleanStarts("g"))
				}
				// The run ends with a commit of unknown outcome, and the process lives.
				faulty.Script(checkpointtest.OpCommit, lost)
				b.push("g", "a", "2")
				for faulty.Calls(checkpointtest.OpAcquire) == len(faults)+1 {
					time.Sleep(time.Millisecond)
				}
				faulty.Script(checkpointtest.OpAcquire, faults...)
				time.Sleep(time.Minute)
				if s := b.summary("g"); s.Health != "live" || len(b.uncleanStarts("g")) > 0 {
					t.Fatalf("after a reload: %s, unclean starts %v", s.Health, b.uncleanStarts("g"))
				}
			})
		})
	}
}

// process is a store as one process of several has it, one after the other: what another has taken
// is not its own.
type process struct {
	checkpoint.Store
	takings rules.Takings
}

func (p *process) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	head, err := p.Store.Acquire(ctx, id)
	if err == nil {
		p.takings.Found(id, head.Fence-1, true)
		head.Own = p.takings.Before(id, head.Fence)
	}
	return head, err
}

// M43: of a process that has died the starts are counted as ever, whatever answers were lost since.
func TestM43LostAnswersHideNoCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []checkpointtest.Outcome{
			checkpointtest.Pass, checkpointtest.UnknownApplied, checkpointtest.UnknownLost,
		} {
			disk := memstore.New()
			b := newBed(t, lasting{&process{Store: disk}}, &scripted{})
			b.apply(owned, "g")
			b.push("g", "a", "1")
			b.close()
			id := checkpoint.ID{Tenant: checkpoint.DefaultTenant, Graph: "g"}
			if _, err := disk.Acquire(t.Context(), id); err != nil { // a process that dies of it
				t.Fatal(err)
			}
			faulty := checkpointtest.NewFaulty(&process{Store: disk}, nil)
			faulty.Script(checkpointtest.OpAcquire, checkpointtest.Fault{Outcome: fault})
			b = newBed(t, lasting{faulty}, &scripted{})
			time.Sleep(time.Minute)
			if s := b.summary("g"); s.Health != "live" || fmt.Sprint(b.uncleanStarts("g")) != "[1]" {
				t.Errorf("outcome %d: %s, unclean starts %v", fault, s.Health, b.uncleanStarts("g"))
			}
			b.close()
		}
	})
}

// uncleanStarts are how many starts each recovery event of that kind tells.
func (b *bed) uncleanStarts(graph string) (attempts []int) {
	for _, ev := range b.recovery(graph) {
		if ev.Kind == "unclean_start" {
			attempts = append(attempts, ev.Attempt)
		}
	}
	return attempts
}
