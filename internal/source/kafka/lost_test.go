package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/testbed"
)

// eras are brokers that know more and less of topic ids.
var eras = map[string][]kfake.Opt{
	"fetch by id":   nil,
	"ids in looks":  {kfake.MaxVersions(kversion.V3_0_0())},
	"no ids at all": {kfake.MaxVersions(kversion.V2_7_0())},
}

// eachEra runs a test against brokers in process that know more and less, and against the
// real one of the test bed.
func eachEra(t *testing.T, run func(t *testing.T, addrs []string)) {
	for name, opts := range eras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, fake(t, opts...).ListenAddrs())
		})
	}
	t.Run("kafka", func(t *testing.T) {
		t.Parallel()
		run(t, testbed.Kafka(t))
	})
}

// remove deletes a topic; what is written to it from then on is another topic's.
func remove(t *testing.T, c *kgo.Client, topic string) {
	t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics, req.TopicNames, req.TimeoutMillis = append(req.Topics, rt), []string{topic}, 5000
	res, err := req.RequestWith(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range res.Topics {
		if rt.ErrorCode != 0 {
			t.Fatalf("delete %s: code %d", topic, rt.ErrorCode)
		}
	}
}

// create makes a topic under a name that may just have been deleted.
func create(t *testing.T, c *kgo.Client, topic string, partitions int) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, int32(partitions), 1
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 5000
	deadline := time.Now().Add(testPatience)
	for {
		res, err := req.RequestWith(t.Context(), c)
		if err == nil && res.Topics[0].ErrorCode == 0 {
			for !shows(t, c, topic, res.Topics[0].TopicID) && time.Now().Before(deadline) {
				<-time.After(20 * time.Millisecond)
			}
			c.PurgeTopicsFromClient(topic) // the client knows the old one
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("create %s: %v %+v", topic, err, res)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// shows reports whether the broker itself knows the topic under its new id: it hears of it from
// its controller, and a client that asks too early learns the id of the old one.
func shows(t *testing.T, c *kgo.Client, topic string, id [16]byte) bool {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(t.Context(), c)
	return err == nil && len(res.Topics) == 1 && res.Topics[0].ErrorCode == 0 && res.Topics[0].TopicID == id
}

// deleteRecords removes a partition's records before an offset, as retention does.
func deleteRecords(t *testing.T, c *kgo.Client, topic string, before int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Offset = before
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	req.TimeoutMillis = 5000
	for _, shard := range c.RequestSharded(t.Context(), req) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
		for _, rt := range shard.Resp.(*kmsg.DeleteRecordsResponse).Topics {
			for _, rp := range rt.Partitions {
				if rp.ErrorCode != 0 {
					t.Fatalf("delete records: code %d", rp.ErrorCode)
				}
			}
		}
	}
}

// lost waits for the source to end because data is lost.
func (f *reading) lost(t *testing.T) *accumulator.DataLost {
	t.Helper()
	var lost *accumulator.DataLost
	if err := f.ends(t); !errors.As(err, &lost) {
		t.Fatalf("it ended with %v", err)
	}
	return lost
}

// skip is what a source of the same configuration makes of positions.
func skip(t *testing.T, cfg Config, from []boundary.Position) ([]boundary.Position, []accumulator.Gap) {
	t.Helper()
	to, gaps, err := newSource(t, cfg).Skip(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(gaps, func(a, b accumulator.Gap) int { return strings.Compare(a.From.Stream, b.From.Stream) })
	return to, gaps
}

func wantPlace(t *testing.T, what string, got boundary.Position, stream string, offset int64) {
	t.Helper()
	if plain(got) != stream || got.Offset != offset {
		t.Errorf("%s is %s, want %s@%d", what, got, stream, offset)
	}
}

// M44, F23: a position whose records were deleted halts. Skipping goes on at the first that
// is left, says how many are lost, and leaves the other partitions where they were.
func TestM44Removed(t *testing.T) {
	eachEra(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 2)
		c := client(t, addrs)
		put(t, c, topic, 0, numbers(0, 10)...)
		put(t, c, topic, 1, numbers(0, 10)...)
		cfg := config(addrs, topic)
		f := read(t, cfg)
		f.count(t, 20)
		f.end()
		at := f.positions()
		put(t, c, topic, 0, numbers(10, 20)...)
		deleteRecords(t, c, topic, 15)
		lost := read(t, cfg, at...).lost(t)
		if !strings.HasPrefix(lost.Want, topic+"/0") || !strings.HasSuffix(lost.Want, "@10") ||
			lost.Have != "offsets 15 to 20 of "+topic+"/0" {
			t.Errorf("got %+v", lost)
		}
		to, gaps := skip(t, cfg, at)
		if len(gaps) != 1 || gaps[0].Events != 5 || !gaps[0].Known || gaps[0].Reason != "removed" {
			t.Fatalf("gaps %+v", gaps)
		}
		wantPlace(t, "the gap's begin", gaps[0].From, topic+"/0", 10)
		wantPlace(t, "the gap's end", gaps[0].To, topic+"/0", 15)
		put(t, c, topic, 1, "more")
		g := read(t, cfg, to...)
		g.count(t, 6)
		wantTexts(t, g.of(topic+"/0"), numbers(15, 20)...)
		wantTexts(t, g.of(topic+"/1"), "more")
	})
}

// M44: a topic that was deleted and made anew under its name halts, however full it is; what
// is read after a skip is all that the new one has, whenever it was written.
func TestM44MadeAnew(t *testing.T) {
	eachEra(t, func(t *testing.T, addrs []string) {
		for name, n := range map[string]int{"empty": 0, "fewer": 3, "equal": 10, "more": 25} {
			for _, running := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, running %v", name, running), func(t *testing.T) {
					t.Parallel()
					madeAnew(t, addrs, n, running)
				})
			}
		}
	})
}

func madeAnew(t *testing.T, addrs []string, n int, running bool) {
	topic, other := testbed.Topic(t, addrs, 2), testbed.Topic(t, addrs, 1)
	c := client(t, addrs)
	put(t, c, topic, 0, numbers(0, 10)...)
	put(t, c, topic, 1, numbers(0, 4)...)
	put(t, c, other, 0, numbers(0, 10)...)
	cfg := config(addrs, topic, other)
	f := read(t, cfg)
	f.count(t, 24)
	if !running {
		f.end()
	}
	down := f.said(accumulator.Disconnected)
	remove(t, c, topic)
	if running { // where topics have no ids, it must be seen that the topic is away
		f.says(t, accumulator.Disconnected, down+1)
	}
	create(t, c, topic, 2)
	for id := range 2 {
		if n > 0 {
			put(t, c, topic, id, numbers(100, 100+n)...)
		}
	}
	at := f.positions()
	if !running {
		f = read(t, cfg, at...)
	}
	lost := f.lost(t)
	if !strings.Contains(lost.Want, topic+"/") || !strings.Contains(lost.Have+lost.Error(), topic) {
		t.Errorf("got %+v", lost)
	}
	if told := strings.Contains(lost.Have, "deleted and made anew"); n >= 10 && !told {
		t.Errorf("it is not told that the topic was made anew: %s", lost.Have)
	}
	if running {
		if got := len(f.Items()); got != 24 {
			t.Fatalf("%d events were read of the old topic, want 24: %q", got, f.texts())
		}
		at = f.positions()
	} else if got := f.texts(); len(got) > 0 {
		t.Fatalf("%q were read of the new topic at an old position", got)
	}
	to, gaps := skip(t, cfg, at)
	if len(gaps) != 2 || gaps[0].Reason != "made_anew" || gaps[1].Reason != "made_anew" || gaps[0].Known {
		t.Fatalf("gaps %+v", gaps)
	}
	for id, offset := range []int64{10, 4} {
		wantPlace(t, "the gap's begin", gaps[id].From, streamOf(topic, id), offset)
		wantPlace(t, "the gap's end", gaps[id].To, streamOf(topic, id), 0)
	}
	for id := range 2 {
		put(t, c, topic, id, "after")
	}
	put(t, c, other, 0, "after")
	g := read(t, cfg, to...)
	g.count(t, 2*n+3)
	for id := range 2 {
		wantTexts(t, g.of(streamOf(topic, id)), append(numbers(100, 100+n), "after")...)
	}
	wantTexts(t, g.of(other+"/0"), "after")
	g.end()
	put(t, c, topic, 0, "last") // and on it goes from there
	h := read(t, cfg, g.positions()...)
	h.count(t, 1)
	wantTexts(t, h.texts(), "last")
}

// M44: a topic that is made anew while the source is held back, and asks for nothing, is
// noticed by the next fetch: it names the topic by its id.
func TestM44MadeAnewWhileHeldBack(t *testing.T) {
	broker := fake(t)
	addrs := broker.ListenAddrs()
	topic := testbed.Topic(t, addrs, 1)
	c := client(t, addrs, kgo.ProducerBatchCompression(kgo.NoCompression()))
	big := func(n int) string { return fmt.Sprintf(`"%d %s"`, n, strings.Repeat("x", 900_000)) }
	for n := range 2 { // an answer holds one of them
		put(t, c, topic, 0, big(n))
	}
	fetches := make(chan struct{}, 100)
	broker.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		fetches <- struct{}{}
		return nil, nil, false
	})
	r := &receiver{gate: make(chan struct{})}
	f := readSource(t, newSource(t, config(addrs, topic)), r)
	for range 2 { // the second while the first is held back
		<-fetches
	}
	remove(t, c, topic)
	create(t, c, topic, 1)
	for n := range 5 {
		put(t, c, topic, 0, big(100+n))
	}
	close(r.gate)
	f.lost(t)
	for _, text := range f.texts() {
		if strings.HasPrefix(text, `"10`) {
			t.Errorf("%.6s was read of the new topic", text)
		}
	}
}

// A position of a version that knew no generations is believed, and has one from then on.
func TestPositionsOfBefore(t *testing.T) {
	eachEra(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1)
		c := client(t, addrs)
		put(t, c, topic, 0, numbers(0, 10)...)
		cfg := config(addrs, topic)
		f := read(t, cfg, boundary.Position{Stream: topic + "/0", Offset: 7})
		f.count(t, 3)
		f.until(t, "a position with a generation", func() bool {
			at := f.positions()
			return len(at) == 1 && strings.Contains(at[0].Stream, "#") && at[0].Offset == 10
		})
		f.end()
		wantTexts(t, f.texts(), "7", "8", "9")
		remove(t, c, topic)
		create(t, c, topic, 1)
		put(t, c, topic, 0, numbers(0, 20)...)
		read(t, cfg, f.positions()...).lost(t)
	})
}

// M44: where nothing is known of the generation, a position beyond the end is of a topic
// that was made anew: all of it is read.
func TestM44BeyondTheEnd(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, 1)
	put(t, client(t, addrs), topic, 0, numbers(0, 5)...)
	cfg := config(addrs, topic)
	at := []boundary.Position{{Stream: topic + "/0", Offset: 20}}
	if lost := read(t, cfg, at...).lost(t); lost.Have != "offsets 0 to 5 of "+topic+"/0" {
		t.Errorf("got %+v", lost)
	}
	to, gaps := skip(t, cfg, at)
	if len(gaps) != 1 || gaps[0].Reason != "made_anew" {
		t.Fatalf("gaps %+v", gaps)
	}
	wantPlace(t, "it", to[0], topic+"/0", 0)

	// A log that is the same and shorter was cut short by its brokers: what is left was read.
	f := read(t, cfg)
	f.count(t, 5)
	f.until(t, "a position with a generation", func() bool { return strings.Contains(f.positions()[0].Stream, "#") })
	f.end()
	at = f.positions()
	at[0].Offset = 20
	read(t, cfg, at...).lost(t)
	if to, gaps = skip(t, cfg, at); len(gaps) != 1 || gaps[0].Reason != "cut_short" {
		t.Fatalf("gaps %+v", gaps)
	}
	wantPlace(t, "it", to[0], topic+"/0", 5)
}

// M44: a partition that the new topic has no more is left out, and that is told.
func TestM44PartitionGone(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, 3)
	c := client(t, addrs)
	for id := range 3 {
		put(t, c, topic, id, numbers(0, 4)...)
	}
	cfg := config(addrs, topic)
	f := read(t, cfg)
	f.count(t, 12)
	f.end()
	remove(t, c, topic)
	create(t, c, topic, 1)
	put(t, c, topic, 0, "new")
	read(t, cfg, f.positions()...).lost(t)
	to, gaps := skip(t, cfg, f.positions())
	if len(to) != 1 || len(gaps) != 3 || gaps[0].Reason != "made_anew" || gaps[1].Reason != "partition_gone" ||
		!gaps[2].To.IsZero() {
		t.Fatalf("to %v, gaps %+v", to, gaps)
	}
	g := read(t, cfg, to...)
	g.count(t, 1)
	wantTexts(t, g.texts(), "new")
}

// A broker that is behind the others and knows an older topic is no loss: what it says has
// to last.
func TestABrokerThatIsBehind(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	addrs := c.ListenAddrs()
	p := client(t, addrs)
	put(t, p, "t", 0, "a")
	looks, began := 0, time.Time{}
	c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		m := req.(*kmsg.MetadataRequest)
		if m.Version != 10 || len(m.Topics) != 1 {
			return nil, nil, false
		}
		if looks++; looks == 2 {
			began = time.Now()
		}
		if looks < 2 || time.Since(began) > beyondPatience/2 {
			return nil, nil, false
		}
		res := m.ResponseKind().(*kmsg.MetadataResponse)
		rt := kmsg.NewMetadataResponseTopic()
		rt.Topic, rt.TopicID = m.Topics[0].Topic, [16]byte{1}
		rp := kmsg.NewMetadataResponseTopicPartition()
		rt.Partitions = append(rt.Partitions, rp)
		res.Topics = append(res.Topics, rt)
		return res, nil, true
	})
	src := newSource(t, config(addrs, "t"))
	src.behind, src.every = time.Minute, lookEvery // much longer than the broker lies, on a slow machine too
	f := readSource(t, src, &receiver{})
	f.count(t, 1)
	f.says(t, accumulator.Disconnected, 1)
	f.says(t, accumulator.Live, 2)
	put(t, p, "t", 0, "b")
	f.count(t, 2)
}

// A position that a later version has written is refused, and nothing is begun anew.
func TestPositionsOfLater(t *testing.T) {
	src := newSource(t, config([]string{"127.0.0.1:1"}, "t"))
	at := boundary.Position{Stream: "t/0#~later", Offset: 3}
	err := src.Run(context.Background(), []boundary.Position{at}, &receiver{})
	if err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("got %v", err)
	}
}

// Positions come back as they were.
func TestPlaces(t *testing.T) {
	for _, stream := range []string{
		"t/0", "a.b-c_d/12", "t/0#mH9c2FVoQZOVT2DNtZ1yOA", "t/3#41.0.1763781000000", "t/3#41.7.-1",
	} {
		pos := boundary.Position{Stream: stream, Offset: 42}
		if p, ok := parsePlace(pos); !ok || p.position() != pos {
			t.Errorf("%s comes back as %s, %v", pos, p.position(), ok)
		}
	}
	for _, stream := range []string{"", "t", "t/x", "t/0#", "t/0#1.2", "t/0#1.2.3.4", "t/0#short", "t/0#1.2.3 "} {
		if p, ok := parsePlace(boundary.Position{Stream: stream, Offset: 42}); ok {
			t.Errorf("%q is taken for %+v", stream, p)
		}
	}
}
