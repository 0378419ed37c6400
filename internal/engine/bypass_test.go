package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/compile"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M33: an update that has failed fails again when it is tried again at once, while the sources
// of the graph that runs on are still connecting: that they are is no reason to take less of the
// new graph.
func TestM33FailedUpdateIsNotBypassed(t *testing.T) {
	const doc = `graph: g
description: %s
accumulators: { a: { source: { generator: { every: 1s, expr: i } } } }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
reactor: { warm_timeout: 2s }
`
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{declared: func(u *compile.Unit, _ int) accumulator.Source {
			return sourceFunc(func(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
				if u.Spec.Description == "broken" {
					return errors.New("open /data/ticks.csv: no such file")
				}
				select {
				case <-time.After(20 * time.Second): // it takes its time to connect
					out.Health(accumulator.Live, "")
					<-ctx.Done()
				case <-ctx.Done():
				}
				return nil
			})
		}})
		defer b.close()
		b.apply(fmt.Sprintf(doc, "good"), "g")
		time.Sleep(time.Minute)
		for try := range 3 {
			_, err := b.reapply(fmt.Sprintf(doc, "broken"))
			wantCode(t, err, http.StatusFailedDependency, "update_failed", "/data/", "revision 1 runs on")
			if s := b.summary("g"); s.Revision != 1 {
				t.Fatalf("try %d: revision %d runs", try+1, s.Revision)
			}
		}
		time.Sleep(time.Minute)
		if s := b.summary("g"); s.Health != "live" || s.Revision != 1 {
			t.Fatalf("%s, revision %d", s.Health, s.Revision)
		}
	})
}
