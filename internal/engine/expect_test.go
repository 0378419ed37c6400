package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// slowToRead takes its time for declarations with a text in them.
type slowToRead struct {
	Kinds
	of    string
	takes time.Duration
}

func (k *slowToRead) ParseStoredFor(ctx context.Context, tenant string, document func() ([]byte, error),
	name string) (*compile.Unit, error) {
	doc, err := document()
	if err == nil && strings.Contains(string(doc), k.of) {
		time.Sleep(k.takes)
	}
	return k.Kinds.ParseStoredFor(ctx, tenant, func() ([]byte, error) { return doc, err }, name)
}

// M46, M52: of what other daemons have declared the leader may be taken before one that follows it. It keeps its
// values for that one from the first on.
func TestM46ALeaderTakenFirstWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		store := memstore.New()
		b := followBed(t, store, x, y)
		defer b.close()
		b.e.cfg.Kinds = &slowToRead{b.e.cfg.Kinds, "graph: x", time.Minute}
		for name, doc := range map[string]string{"lead": lead, "x": fmt.Sprintf(follows, "x", "")} {
			d := checkpoint.Declaration{Tenant: "default", Graph: name, Origin: "api", Updated: time.Now(), Text: doc}
			if _, err := store.PutDeclaration(t.Context(), d, 0); err != nil {
				t.Fatal(err)
			}
		}
		taken := make(chan error, 1)
		go func() { taken <- b.e.takeDeclarations(t.Context()) }() // lead comes before x
		time.Sleep(10 * time.Second)
		b.leads(1, 5)
		time.Sleep(10 * time.Second)
		if o := b.summary("lead").Outputs[0]; o.Pending != 5 || !strings.Contains(o.Error, `"x"`) {
			t.Errorf("while x is read the leader keeps %+v", o)
		}
		if err := <-taken; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if o := b.summary("lead").Outputs[0]; o.Pending != 0 || x.taken() != cutsOf(1, 5) {
			t.Errorf("x took %s, and the leader keeps %+v", x.taken(), o)
		}
	})
}
