package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

const filed = `graph: g
accumulators: { a: { source: { file: { path: in.ndjson } } } }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// A source that cannot be opened is named by the answer to apply, and by the graph while it waits.
func TestApplyNamesSourceThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{source: func(string) accumulator.Source {
			return sourceFunc(func(context.Context, []boundary.Position, accumulator.Out) error {
				return errors.New("stat /data/in.ndjson: no such file")
			})
		}})
		defer b.close()
		res, err := b.reapply(filed)
		if err != nil || len(res.Troubles) != 1 || !strings.Contains(res.Troubles[0], "accumulator a") ||
			!strings.Contains(res.Troubles[0], "/data/in.ndjson") || strings.Contains(res.Troubles[0], `"a"`) {
			t.Fatalf("%+v, %v", res, err)
		}
		if s := b.summary("g"); s.HealthReason == nil || s.HealthReason.Code != "waiting_for_accumulators" ||
			!strings.HasPrefix(s.HealthReason.Detail, "a: source: stat /data/in.ndjson") {
			t.Errorf("the graph does not say what it waits for: %+v", s.HealthReason)
		}
	})
}

// So is a sink that cannot be opened; and a push that finds no room is told of it.
func TestApplyNamesSinkThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{sinkErr: func(string) error {
			return errors.New("the folder /out does not exist")
		}})
		defer b.close()
		res, err := b.reapply(fmt.Sprintf(oneSink, ""))
		if err != nil || len(res.Troubles) != 1 || res.Troubles[0] != "output o: the folder /out does not exist" {
			t.Fatalf("%+v, %v", res, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		pushed, err := b.e.Push(ctx, ofG, "a", repeat("1", 1))
		if err != nil || !pushed.Full || pushed.Why == nil || pushed.Why.Code != "restarting" ||
			!strings.Contains(pushed.Why.Detail, "/out does not exist") {
			t.Errorf("%+v, %v", pushed, err)
		}
	})
}

// M33: the same text from another folder names other files, and is an update.
func TestM33AnotherFolderIsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{source: func(string) accumulator.Source {
			return sourceFunc(func(ctx context.Context, _ []boundary.Position, _ accumulator.Out) error {
				<-ctx.Done()
				return nil
			})
		}})
		defer b.close()
		for i, path := range []string{"/one/g.yaml", "/one/g.yaml", "/two/g.yaml"} {
			res, err := b.e.ApplyFile(t.Context(), "default", path, []byte(filed), api.Change{})
			if err != nil || res.Changed != (i != 1) {
				t.Fatalf("%s: %+v, %v", path, res, err)
			}
			want := []api.File{{Of: "accumulator a", Path: "in.ndjson", File: strings.Replace(path, "g.yaml",
				"in.ndjson", 1)}}
			if !slices.Equal(res.Files, want) {
				t.Errorf("%s: %+v", path, res.Files)
			}
			synctest.Wait()
		}
		if got := b.told(); !slices.Equal(got, []string{"2 moved accumulators.a", "1 made"}) {
			t.Errorf("%q", got)
		}
	})
}
