package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/sink"
)

// An output whose deliveries fail says so, since when, how much waits and why, until one goes
// well; the graph stays live and names it. One of which nothing waits any more says what became of it.
func TestFailingOutputIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		failure       error
		code, says    string
		refused, dead int64
	}{
		"tried again": {errors.New("connection refused"), "output_failing",
			"output o has failed since %s, 2 wait: connection refused", 0, 0},
		"dead letters": {&sink.PermanentError{Code: "http_status", Err: errors.New("connection refused")},
			"output_refused", "output o has taken nothing since %s, and nothing waits: what came (2) became dead " +
				"letters: http_status: connection refused", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := &picky{}
				b := newBed(t, memstore.New(), &scripted{sink: func(string) sink.Sink { return got }})
				defer b.close()
				b.apply(fmt.Sprintf(oneSink, ", on_error: dead_letter"), "g")
				b.push("g", "a", "1")
				if s := b.summary("g"); s.HealthReason != nil || s.Outputs[0].FailingSince != nil {
					t.Fatalf("nothing has failed yet: %+v, %+v", s.HealthReason, s.Outputs[0])
				}
				time.Sleep(time.Minute)
				began := time.Now()
				got.set(func([]sink.Message) error { return test.failure })
				b.push("g", "a", "2")
				time.Sleep(time.Minute)
				b.push("g", "a", "3")
				s := b.summary("g")
				o := &s.Outputs[0]
				if o.FailingSince == nil || !o.FailingSince.Equal(began) ||
					!strings.Contains(o.Error, "connection refused") {
					t.Fatalf("failing since %v, want %v: %q", o.FailingSince, began, o.Error)
				}
				says := fmt.Sprintf(test.says, began.UTC().Format(time.RFC3339))
				if r := s.HealthReason; s.Health != "live" || r == nil || r.Code != test.code || r.Detail != says {
					t.Fatalf("%s, %+v; want %s: %s", s.Health, r, test.code, says)
				}
				if o.RefusedSince != test.refused || s.DeadLettered() != test.dead {
					t.Errorf("%d refused since, %d dead letters, want %d", o.RefusedSince, s.DeadLettered(), test.dead)
				}
				got.set(nil)
				b.push("g", "a", "4")
				time.Sleep(time.Minute)
				s = b.summary("g")
				if o := &s.Outputs[0]; s.HealthReason != nil || o.FailingSince != nil || o.RefusedSince != 0 {
					t.Errorf("it works again: %+v, %+v", s.HealthReason, o)
				}
				if s.DeadLettered() != test.dead || s.Counters.DeadLettered != 0 {
					t.Errorf("%d dead letters, want %d", s.DeadLettered(), test.dead)
				}
			})
		})
	}
}

// M21: a graph whose epochs fail one after the other names the node that they fail of, until one is kept. One that
// fails by itself is an event that was wrong.
func TestFailingEpochsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		touchy := func(_ []string, args []boundary.Value) (boundary.Value, error) {
			if n, _ := args[0].AsInt(); n > 1 {
				panic("cannot take it")
			}
			return args[0], nil
		}
		b := newBed(t, memstore.New(), &scripted{
			Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": touchy}},
			sink:  func(string) sink.Sink { return &picky{} },
		})
		defer b.close()
		b.apply(fmt.Sprintf(stuckDoc, "g"), "g")
		for i, says := range []string{"", "", "", "3 epochs", "4 epochs", "", "", ""} {
			b.push("g", "a", []string{"1", "2", "3", "4", "5", "1", "2", "3"}[i])
			time.Sleep(time.Second)
			s := b.summary("g")
			if r := s.HealthReason; says == "" && r != nil || says != "" && (r == nil || r.Code != "epochs_failing" ||
				!strings.HasPrefix(r.Detail, "the last "+says+" have failed, the last one with panic: node n: ") ||
				!strings.Contains(r.Detail, "cannot take it")) || s.Health != "live" {
				t.Errorf("after event %d: %s %+v, want %q", i, s.Health, r, says)
			}
		}
	})
}
