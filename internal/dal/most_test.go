package dal_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal"
	"github.com/graphd/graphd/internal/testbed"
)

// A11: daemons that apply at one time share a tenant's quota of graphs: as many are made as there may be, whoever makes
// them, and none more.
func TestA11GraphsOfATenantAreCounted(t *testing.T) {
	t.Parallel()
	for kind, address := range map[string]func(t *testing.T) string{
		"memory":   func(*testing.T) string { return "memory:" },
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "graphd.db") },
		"postgres": func(t *testing.T) string { return testbed.Postgres(t) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			at, daemons := address(t), 1
			if kind == "postgres" {
				daemons = 3
			}
			stores := make([]checkpoint.Store, daemons)
			for n := range stores {
				s, err := dal.Open(t.Context(), at, checkpoint.Member{}, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				stores[n] = s
			}
			put := func(n int, tenant, graph string, most int) error {
				_, err := stores[n%daemons].PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: tenant,
					Graph: graph, Text: "graph: " + graph, Most: most}, 0)
				return err
			}
			for round := range 3 {
				tenant, made := fmt.Sprint("acme", round), atomic.Int64{}
				var all sync.WaitGroup
				for n := range 12 {
					all.Go(func() {
						err := put(n, tenant, fmt.Sprint("g", n), 3)
						many, full := errors.AsType[*checkpoint.TooManyError](err)
						switch {
						case err == nil:
							made.Add(1)
						case !full || many.Have != 3:
							t.Error(err)
						}
						if err := put(n, "other", fmt.Sprint("g", round, "_", n), 0); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if made.Load() != 3 {
					t.Errorf("%d graphs were made", made.Load())
				}
			}
			list, err := stores[0].Declarations(t.Context())
			if err != nil || len(list) != 9+36 {
				t.Errorf("there are %d, %v", len(list), err)
			}
			if err := put(0, "acme0", list[0].Graph, 1); err != nil {
				t.Errorf("one that is there is not counted again: %v", err)
			}
		})
	}
}
