package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// An output whose deliveries fail says so, since when, how much waits and why, until one goes
// well; the graph stays live and names it.
func TestFailingOutputIsTold(t *testing.T) {
	for name, failure := range map[string]error{
		"tried again":  errors.New("connection refused"),
		"dead letters": &sink.PermanentError{Code: "http_status", Err: errors.New("connection refused")},
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
				got.set(func([]sink.Message) error { return failure })
				b.push("g", "a", "2")
				time.Sleep(time.Minute)
				b.push("g", "a", "3")
				s := b.summary("g")
				o := &s.Outputs[0]
				if o.FailingSince == nil || !o.FailingSince.Equal(began) ||
					!strings.Contains(o.Error, "connection refused") {
					t.Fatalf("failing since %v, want %v: %q", o.FailingSince, began, o.Error)
				}
				if r := s.HealthReason; s.Health != "live" || r == nil || r.Code != "output_failing" ||
					!strings.Contains(r.Detail, fmt.Sprintf("output o has failed since %s, %d wait",
						began.UTC().Format(time.RFC3339), o.Pending)) {
					t.Fatalf("%s, %+v", s.Health, r)
				}
				got.set(nil)
				b.push("g", "a", "4")
				time.Sleep(time.Minute)
				if s := b.summary("g"); s.HealthReason != nil || s.Outputs[0].FailingSince != nil {
					t.Errorf("it works again: %+v, %+v", s.HealthReason, s.Outputs[0])
				}
			})
		})
	}
}
