package engine

import (
	"errors"
	"testing"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M54: what cannot be dealt anew is refused when it is asked whether it could be, in the words of the update itself.
func TestM54AnotherPartitionedIsRefusedBeforehand(t *testing.T) {
	w := newPartitioned(t, 4)
	w.produce(20, 10, -1, 0)
	b := w.start(memstore.New())
	defer b.close()
	w.apply(b, w.document(true, 4))
	w.holds(b, "four shards", 0, true)
	for what, doc := range map[string]string{
		"dealt by graphd": w.document(false, 4), "two shards": w.document(true, 2),
	} {
		var said [2]string
		for n, dry := range []bool{true, false} {
			e := new(api.Error)
			_, err := b.e.Apply(t.Context(), shardedRef, []byte(doc), api.Change{DryRun: dry})
			if !errors.As(err, &e) || e.Code != "update_failed" {
				t.Fatalf("%s, dry run %v: %v", what, dry, err)
			}
			said[n] = e.Detail
		}
		if said[0] != said[1] {
			t.Errorf("%s: it would be refused with %q, and is with %q", what, said[0], said[1])
		}
	}
	if s := b.summary("g"); s.Health != "live" || len(s.Shards) != 4 {
		t.Errorf("it is %s with %d shards", s.Health, len(s.Shards))
	}
}
