package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/watch"
)

// streams are frames by their shards, in the order in which they came.
type streams map[int][]*api.Frame

func framesOf(sub api.Subscription, most int) (all streams, at api.Places) {
	all, at = streams{}, api.Places{}
	for f := sub.TryNext(); f != nil; f = sub.TryNext() {
		all[f.Shard] = append(all[f.Shard], f)
		if at[f.Shard] = f.At(); most > 0 {
			if most--; most == 0 {
				break
			}
		}
	}
	return all, at
}

func (b *bed) watches(since string, topics ...string) api.Subscription {
	b.t.Helper()
	sub, err := b.e.Watch(b.t.Context(), ofG, api.Wanted{Topics: topics, Since: since})
	if err != nil {
		b.t.Fatal(err)
	}
	return sub
}

func (b *bed) fires(n int) {
	b.t.Helper()
	var events []string
	for k := range n {
		events = append(events, fmt.Sprintf(`{"id":"k%d","x":1}`, k))
	}
	b.push("g", "a", events...)
	synctest.Wait()
}

// M53: the frames of a graph name their shard and are numbered in it. Who goes on is given what it has missed of every
// shard, of those too of which it had seen nothing; what is not there any more is a gap of its shard.
func TestM53FramesNameTheirShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		everyone, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default"}, api.Wanted{Topics: []string{"outputs"}})
		if err != nil {
			t.Fatal(err)
		}
		defer everyone.Close()
		b.apply(threeShards, "g")
		b.push("g", "by", "1")
		b.fires(30)
		sub := b.watches("", "outputs", "firings")
		at, ok := api.ParsePlaces(sub.(*watch.Queue).Places())
		if !ok || len(at) != 3 {
			t.Fatalf("it begins at %q", sub.(*watch.Queue).Places())
		}
		b.fires(60)
		got, _ := framesOf(sub, 20)
		for shard, frames := range got {
			for i, f := range frames {
				key := f.Key
				if f.Firing != nil {
					key = f.Firing.Key
				}
				if f.Seq != at[shard].Seq+int64(i)+1 || boundary.Key(key).Shard(3) != shard || f.Firing != nil &&
					f.Firing.Shard != shard {
					t.Errorf("frame %d of shard %d: %+v", i, shard, f)
				}
			}
			at[shard] = frames[len(frames)-1].At()
		}
		sub.Close()
		b.fires(60)
		rest, seen := framesOf(b.watches(at.String(), "outputs", "firings"), 0)
		all := 0
		for shard, frames := range rest {
			for i, f := range frames {
				if f.Type == "gap" || f.Seq != at[shard].Seq+int64(i)+1 {
					t.Errorf("frame %d of shard %d: %+v", i, shard, f)
				}
			}
			all += len(frames)
		}
		if all != 2*120-20 || len(seen) != 3 {
			t.Errorf("%d frames were missed, at %s", all, seen)
		}
		if all, _ := framesOf(everyone, 0); len(all) != 3 || len(all[0])+len(all[1])+len(all[2]) != 150 {
			t.Errorf("the watchers of all graphs see %v", all)
		}
		b.gaps(t, seen)
	})
}

// gaps tries what a watcher cannot be given any more, or is too slow for.
func (b *bed) gaps(t *testing.T, at api.Places) {
	t.Helper()
	one := api.Places{1: at[1]}
	unheard, _ := framesOf(b.watches(one.String(), "outputs"), 0)
	if len(unheard) != 2 || len(unheard[1]) > 0 {
		t.Errorf("of two shards nothing was heard: %v", unheard)
	}
	for shard, frames := range unheard {
		for i, f := range frames { // each output is before the firing that it is of
			if f.Type != "output" || f.Seq != int64(2*i)+1 {
				t.Errorf("frame %d of shard %d, of which nothing was heard: %+v", i, shard, f)
			}
		}
		if int64(2*len(frames)) != at[shard].Seq {
			t.Errorf("of shard %d there are %d outputs up to %d", shard, len(frames), at[shard].Seq)
		}
	}
	slow, before := b.watches("", "outputs"), b.summary("g").Epoch
	for range 50 {
		b.fires(100)
	}
	time.Sleep(time.Second)
	total := int64(0)
	for shard, frames := range first(framesOf(slow, 0)) {
		last := frames[len(frames)-1]
		if last.Type != "gap" || last.From != frames[len(frames)-2].Seq+2 {
			t.Errorf("shard %d: %+v behind %+v", shard, last, frames[len(frames)-2])
		}
		total += int64(len(frames)) - 1 + (last.To-last.From)/2 + 1
	}
	if fired := b.summary("g").Epoch - before; total != fired || fired != 5000 {
		t.Errorf("%d frames and missed ones of %d", total, fired)
	}
	health := b.watches("", "health")
	if _, err := b.e.Pause(t.Context(), ofG, "test"); err != nil {
		t.Fatal(err)
	}
	if all := first(framesOf(health, 0)); len(all) != 3 || !*all[2][0].Paused {
		t.Errorf("a pause: %v", all)
	}
	if _, err := b.e.Restart(t.Context(), ofG, "", "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.e.Resume(t.Context(), ofG, "test"); err != nil {
		t.Fatal(err)
	}
	b.fires(30)
	missed, _ := framesOf(b.watches(at.String(), "outputs"), 0)
	if len(missed) != 3 {
		t.Errorf("after a restart: %v", missed)
	}
	for shard, frames := range missed {
		if f := frames[0]; f.Type != "gap" || f.Incarnation == at[shard].Incarnation || f.From != at[shard].Seq+1 {
			t.Errorf("after a restart, shard %d: %+v", shard, f)
		}
		for i, f := range frames[1:] { // every second number is a firing's
			if f.Type != "output" || f.Seq != frames[0].To+2*int64(i)+1 {
				t.Errorf("after a restart, frame %d of shard %d: %+v", i, shard, f)
			}
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// M53, M54: who watches a graph is told what its new shards fire, and its subscription ends with the graph, whichever
// of the shards have gone before.
func TestM54NewShardsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(threeShards, "g")
		sub := b.watches("", "outputs")
		for _, n := range []int{7, 2, 5} {
			b.apply(strings.Replace(threeShards, "shards: 3", fmt.Sprintf("shards: %d", n), 1), "g")
			b.push("g", "by", "1")
			b.fires(40)
			got, _ := framesOf(sub, 0)
			outputs := 0
			for shard, frames := range got {
				for _, f := range frames {
					if f.Type != "output" || shard >= n {
						t.Errorf("%d shards: %+v", n, f)
						continue
					}
					outputs++
				}
			}
			if len(got) != n || outputs != 40 {
				t.Errorf("%d shards: %d outputs of %d shards", n, outputs, len(got))
			}
		}
		if err := b.e.Delete(t.Context(), ofG, true); err != nil {
			t.Fatal(err)
		}
		if q := sub.(*watch.Queue); !q.IsEnded() {
			t.Error("the subscription goes on without the graph")
		}
	})
}

// M53: what is told of the health of a shard while it is dealt anew has the place of the last frame before it, so that
// who goes on behind it is given nothing twice, and loses nothing.
func TestM53PlacesNeverGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(threeShards, "g")
		b.push("g", "by", "1")
		b.fires(40)
		sub := b.watches("", "outputs", "health")
		defer sub.Close()
		at, health := api.Places{}, 0
		for _, n := range []int{7, 2, 5} {
			b.apply(strings.Replace(threeShards, "shards: 3", fmt.Sprintf("shards: %d", n), 1), "g")
			b.push("g", "by", "1")
			b.fires(40)
			got, _ := framesOf(sub, 0)
			for shard, frames := range got {
				for _, f := range frames {
					was, is := at[shard], f.At()
					if f.Type == "health" {
						health++
					}
					if is == (api.Place{}) && f.Health == "starting" {
						continue // one that is new has no place before it has started
					}
					if is.Incarnation < was.Incarnation || is.Incarnation == was.Incarnation && is.Seq < was.Seq {
						t.Errorf("shard %d of %d: %s %s comes behind %v", shard, n, f.Type, f.Place(), was)
					}
					at[shard] = is
				}
			}
		}
		if health == 0 {
			t.Error("no health was told")
		}
	})
}

// A place that a graph has not come to, or that is of no shard of it, is refused, and the refusal says which there are.
func TestSinceIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(threeShards, "g")
		b.push("g", "by", "1")
		b.fires(40)
		for since, want := range map[string]string{
			"1:0,1/1:2,2/1:2": "", "9/1:1,1/1:2": "", "0:0": "",
			"1:9999":      "there is no 1:9999 yet, the last frame is 1:",
			"1:0,2/8:1":   "there is no 2/8:1 yet, the last frame is 2/1:",
			"9/1:1":       "since 9/1:1 is of no shard that there is: the graph has the shards 0 to 2",
			"9/1:1,3/1:1": "is of no shard that there is",
		} {
			sub, err := b.e.Watch(t.Context(), ofG, api.Wanted{Topics: []string{"outputs"}, Since: since})
			refused, _ := errors.AsType[*api.Error](err)
			if (err == nil) != (want == "") || err != nil && (refused == nil || refused.Code != api.CodeBadSince ||
				!strings.Contains(refused.Detail, want)) {
				t.Errorf("%s: %v, want %q", since, err, want)
			}
			if err == nil {
				sub.Close()
			}
		}
		b.apply("graph: h\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: "+
			"{} } } }\n", "h")
		h := api.Ref{Tenant: "default", Name: "h"}
		w := api.Wanted{Topics: []string{"outputs"}, Since: "1/1:0"}
		if _, err := b.e.Watch(t.Context(), h, w); err == nil ||
			!strings.Contains(err.Error(), "the graph has one stream, which since names as incarnation:seq") {
			t.Errorf("a graph without shards: %v", err)
		}
	})
}
