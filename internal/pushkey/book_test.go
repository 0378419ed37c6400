package pushkey

import (
	"context"
	"errors"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

var errAway = errors.New("the shard is another daemon's")

// M53, M54: a claim waits for no run. It says when it is worth another try, and holds nothing until then: neither the
// key at shards that do run, nor whoever is to have the shard run.
func TestAClaimWaitsForNoRun(t *testing.T) {
	t.Parallel()
	var runs, not Book
	runs.Begin("a")
	none := func(context.Context) ([]checkpoint.PushKey, error) { return nil, nil }
	k := &Key{Text: "k", Hash: []byte("h"), Look: none}
	both := []Place{{0, &runs}, {1, &not}}
	try := func() ([]*Claim, error) { return Claims(t.Context(), k, both, 2) }
	idle := func() *Idle {
		t.Helper()
		claims, err := try()
		no, is := errors.AsType[*Idle](err)
		if !is || len(claims) > 0 {
			t.Fatalf("%d claims, %v", len(claims), err)
		}
		select {
		case <-no.Changed:
			t.Fatal("nothing has changed")
		default:
		}
		return no
	}
	first := idle()
	again := idle() // or the key would be under way
	not.Away(errAway)
	for _, no := range []*Idle{first, again} {
		<-no.Changed
	}
	if _, err := try(); !errors.Is(err, errAway) {
		t.Fatalf("of a shard that is away: %v", err)
	}
	not.Away(nil)
	no := idle()
	not.Begin("a")
	<-no.Changed
	claims, err := try()
	if err != nil || len(claims) != 2 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	for _, c := range claims {
		c.Release(&Outcome{})
	}
	not.End()
	idle()
}
