package kafka

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/partitioner"
	"github.com/graphd/graphd/internal/testbed"
)

// portioned reads a part of a topic's partitions.
func portioned(t *testing.T, cfg Config, of int, mine []int, from ...boundary.Position) *reading {
	t.Helper()
	src := newSource(t, cfg)
	src.Portion(of, func(n int) bool { return slices.Contains(mine, n) })
	return readSource(t, src, &receiver{}, from...)
}

// M49: a source that has a part of the partitions gives what is in these, and begins each remainder by itself: one that
// was never read begins where `start` says, also where others were.
func TestM49PortionIsReadAlone(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 8)
		c := client(t, addrs)
		for p := range 8 {
			put(t, c, topic, p, numbers(100*p, 100*p+10)...)
		}
		f := portioned(t, config(addrs, topic), 4, []int{1, 3})
		f.count(t, 40)
		for _, it := range f.Items() {
			if n := partitioner.NumberOf(it.Pos.Stream); n%2 == 0 {
				t.Errorf("%s is read", it.Pos)
			}
		}
		if err := f.end(); err != nil {
			t.Fatal(err)
		}

		latest := config(addrs, topic)
		latest.Start.At = "latest"
		from := slices.DeleteFunc(f.positions(), func(p boundary.Position) bool {
			return partitioner.NumberOf(p.Stream) != 1 // and not 5 of the same remainder
		})
		g := portioned(t, latest, 4, []int{1, 2}, from...)
		g.until(t, "all partitions", func() bool { return len(g.positions()) == 4 })
		for _, p := range []int{1, 2, 5, 6} {
			put(t, c, topic, p, "new")
		}
		g.count(t, 14)
		// What has come to the first remainder later is read from its beginning, and the second as start says.
		for p, want := range map[int]int{1: 1, 2: 1, 5: 11, 6: 1} {
			if got := g.of(streamOf(topic, p)); len(got) != want {
				t.Errorf("partition %d gave %q, want %d", p, got, want)
			}
		}
	})
}

// M49: leaders are asked for the partitions of the part, and for no others.
func TestM49OnlyThePortionIsFetched(t *testing.T) {
	t.Parallel()
	cluster := fake(t)
	addrs := cluster.ListenAddrs()
	topic := testbed.Topic(t, addrs, 8)
	var mu sync.Mutex
	asked := map[int32]bool{}
	cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				asked[p.Partition] = true
			}
		}
		return nil, nil, false
	})
	f := portioned(t, config(addrs, topic), 4, []int{2})
	put(t, client(t, addrs), topic, 6, "x")
	f.count(t, 1)
	mu.Lock()
	defer mu.Unlock()
	for p := range asked {
		if p%4 != 2 {
			t.Errorf("partition %d is fetched", p)
		}
	}
	if len(asked) != 2 {
		t.Errorf("fetched: %v", asked)
	}
}

// M49: where the number of partitions is no multiple of the shards nothing is read, which is told with what to do; when
// it is one again reading goes on by itself.
func TestM49UnevenPartitionsAreNotRead(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 6)
		c := client(t, addrs)
		put(t, c, topic, 1, numbers(0, 10)...)
		f := portioned(t, config(addrs, topic), 4, []int{1})
		f.says(t, accumulator.Disconnected, 1)
		f.told(t, "partitions_uneven: topic "+topic+" has 6 partitions", "until it has 8")
		if n := len(f.Items()); n > 0 {
			t.Errorf("%d events are read", n)
		}
		testbed.GrowTopic(t, addrs, topic, 8)
		f.count(t, 10)
		f.says(t, accumulator.Live, 1)

		testbed.GrowTopic(t, addrs, topic, 10)
		f.says(t, accumulator.Disconnected, 2)
		f.told(t, "partitions_changed: topic "+topic+" now has 10 partitions", "until it has 12")
		put(t, c, topic, 1, "later")
		testbed.GrowTopic(t, addrs, topic, 12)
		f.count(t, 11)
		f.says(t, accumulator.Live, 2)
	})
}

// M49: what comes while the partitions do not fit is not read, however long that is.
func TestM49NothingIsReadWhileUneven(t *testing.T) {
	t.Parallel()
	cluster := fake(t)
	addrs := cluster.ListenAddrs()
	topic := testbed.Topic(t, addrs, 8)
	var looks atomic.Int64
	f := portioned(t, config(addrs, topic), 4, []int{1})
	f.says(t, accumulator.Live, 1)
	testbed.GrowTopic(t, addrs, topic, 10)
	f.says(t, accumulator.Disconnected, 1)
	cluster.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		looks.Add(1)
		return nil, nil, false
	})
	looked := func(n int64) {
		from := looks.Load()
		f.until(t, "looks at the topic", func() bool { return looks.Load() >= from+n })
	}
	looked(int64(2 * maxWait / f.src.every)) // what was asked for before has been answered
	put(t, client(t, addrs), topic, 1, "x")
	looked(10)
	if n := len(f.Items()); n > 0 {
		t.Errorf("%d events are read", n)
	}
	testbed.GrowTopic(t, addrs, topic, 12)
	f.count(t, 1)
}

// told checks the last thing that was said in words.
func (f *reading) told(t *testing.T, words ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	text := f.details[len(f.details)-1]
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("it says %q, and not %q", text, w)
		}
	}
}
