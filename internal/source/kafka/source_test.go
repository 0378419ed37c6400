package kafka

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed"
)

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1)
		c := client(t, addrs)
		put(t, c, topic, 0, numbers(0, 100)...)
		c.Close() // its connections would come and go while leaks are looked for
		sourcetest.Run(t, sourcetest.Suite{
			New:    func(t *testing.T) accumulator.Source { return newSource(t, config(addrs, topic)) },
			Events: 100, Endless: true,
		})
	})
}

// A record's value is the event; key, headers, topic, partition, offset and time are its
// meta. A record without a value is null.
func TestRecord(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1)
		at := time.UnixMilli(1700000000123)
		putRecords(t, client(t, addrs),
			&kgo.Record{
				Topic: topic, Key: []byte("k"), Value: []byte(`{"a":1}`), Timestamp: at, Headers: []kgo.RecordHeader{
					{Key: "h", Value: []byte("v")}, {Key: "bad", Value: []byte{0xff}},
				},
			},
			&kgo.Record{Topic: topic, Key: []byte("gone")},
			&kgo.Record{Topic: topic, Value: []byte{}},
		)
		f := read(t, config(addrs, topic))
		f.count(t, 3)
		wantTexts(t, f.texts(), `{"a":1}`, "null", "")
		wantPlace(t, "the position", f.Items()[0].Pos, topic+"/0", 1)
		m := f.metas[0]
		if m.Key != "k" || m.Headers["h"] != "v" || m.Headers["bad"] != "\ufffd" || m.Topic != topic ||
			m.Partition != 0 || m.Offset != 0 || !m.Timestamp.Equal(at) {
			t.Errorf("meta %+v", m)
		}
		if m := f.metas[1]; m.Key != "gone" || m.Offset != 1 || m.Headers != nil {
			t.Errorf("meta of a tombstone %+v", m)
		}
	})
}

// Format raw: the text of the record is the event, whatever it looks like.
func TestRaw(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, 1)
	put(t, client(t, addrs), topic, 0, `{"a":1}`, "line\n", "\xff", "7")
	cfg := config(addrs, topic)
	cfg.Format = "raw"
	f := read(t, cfg)
	f.count(t, 4)
	wantTexts(t, f.texts(), `"{\"a\":1}"`, `"line\n"`, "invalid_utf8 \xff", `"7"`)
}

// Where a source without positions begins.
func TestStart(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1)
		c := client(t, addrs)
		begin := time.UnixMilli(1700000000000)
		for i := range 6 {
			putRecords(t, c, &kgo.Record{
				Topic: topic, Value: []byte(strconv.Itoa(i)), Timestamp: begin.Add(time.Duration(i) * time.Second),
			})
		}
		for name, x := range map[string]struct {
			start Start
			first string
		}{
			"nothing said": {Start{}, "0"},
			"earliest":     {Start{At: "earliest"}, "0"},
			"timestamp":    {Start{At: "timestamp", Time: begin.Add(2500 * time.Millisecond)}, "3"},
			"offsets":      {Start{At: "offsets", Offsets: map[string]int64{topic + "/0": 4}}, "4"},
		} {
			cfg := config(addrs, topic)
			cfg.Start = x.start
			f := read(t, cfg)
			f.count(t, 1)
			if got := f.texts()[0]; got != x.first {
				t.Errorf("%s begins with %s, want %s", name, got, x.first)
			}
		}
		for _, start := range []Start{{At: "latest"}, {At: "timestamp", Time: time.Now().Add(time.Hour)}} {
			cfg := config(addrs, topic)
			cfg.Start = start
			f := read(t, cfg)
			f.says(t, accumulator.Live, 1)
			put(t, c, topic, 0, "new "+start.At)
			f.count(t, 1)
			if got := f.texts()[0]; got != "new "+start.At {
				t.Errorf("%s begins with %s", start.At, got)
			}
		}
	})
}

// M28: where a source began is part of its mark, so that a restart before the first record
// does not begin anew, at another end.
func TestM28TheBeginningIsKept(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, 2)
	c := client(t, addrs)
	put(t, c, topic, 0, "old")
	cfg := config(addrs, topic)
	cfg.Start.At = "latest"
	f := read(t, cfg)
	f.says(t, accumulator.Live, 1)
	f.end()
	at := f.positions()
	if len(at) != 2 {
		t.Fatalf("positions %v, want one of each partition", at)
	}
	put(t, c, topic, 0, "while it was down")
	g := read(t, cfg, at...)
	g.count(t, 1)
	wantTexts(t, g.texts(), "while it was down")
}

// Records of one partition stay in order, over several partitions and topics, whatever
// follows whatever; a restart anywhere doubles nothing and leaves nothing out.
func TestOrderAndResume(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		a, b := testbed.Topic(t, addrs, 3), testbed.Topic(t, addrs, 1)
		c := client(t, addrs)
		want := map[string][]string{}
		for round := range 10 {
			for _, p := range []struct {
				topic string
				id    int
			}{{a, 0}, {a, 1}, {a, 2}, {b, 0}} {
				values := numbers(round*50, round*50+50)
				put(t, c, p.topic, p.id, values...)
				want[streamOf(p.topic, p.id)] = append(want[streamOf(p.topic, p.id)], values...)
			}
		}
		cfg := config(addrs, a, b)
		cfg.MaxBatchBytes = 1 << 20
		got := map[string][]string{}
		var from []boundary.Position
		total := 0
		for total < 2000 {
			r := &receiver{}
			r.Block, r.Blocked = 400, make(chan struct{})
			f := readSource(t, newSource(t, cfg), r, from...)
			f.until(t, "events", func() bool { return len(f.Items()) >= min(400, 2000-total) })
			if err := f.end(); err != nil {
				t.Fatal(err)
			}
			for _, it := range f.Items() {
				got[plain(it.Pos)] = append(got[plain(it.Pos)], it.Raw)
				total++
			}
			from = f.positions()
			for i := range from { // what was handed over before counts, too
				from[i].Offset = int64(len(got[plain(from[i])]))
			}
		}
		for stream, w := range want {
			wantTexts(t, got[stream], w...)
		}
	})
}

// Partitions that are added while it runs are read from their beginning.
func TestPartitionsAdded(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1)
		cfg := config(addrs, topic)
		cfg.Start.At = "latest"
		f := read(t, cfg)
		f.says(t, accumulator.Live, 1)
		testbed.GrowTopic(t, addrs, topic, 3)
		c := client(t, addrs)
		put(t, c, topic, 2, "x", "y")
		put(t, c, topic, 0, "z")
		f.count(t, 3)
		wantTexts(t, f.of(topic+"/2"), "x", "y")
		// So are those that were added while it was down.
		f.end()
		testbed.GrowTopic(t, addrs, topic, 4)
		put(t, client(t, addrs), topic, 3, "v")
		g := read(t, cfg, f.positions()...)
		g.count(t, 1)
		wantTexts(t, g.texts(), "v")
	})
}

// A position at the very end, and at the very beginning of what is left, is not lost.
func TestNotLost(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, 1)
	c := client(t, addrs)
	put(t, c, topic, 0, numbers(0, 10)...)
	deleteRecords(t, c, topic, 5)
	for _, offset := range []int64{5, 10} {
		f := read(t, config(addrs, topic), boundary.Position{Stream: topic + "/0", Offset: offset})
		put(t, c, topic, 0, "new")
		f.until(t, "the new one", func() bool { return slices.Contains(f.texts(), "new") })
		f.end()
	}
}

// M29: the group's offsets mirror what is durable, and nothing else.
func TestM29Mirror(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 2)
		c := client(t, addrs)
		put(t, c, topic, 0, numbers(0, 10)...)
		cfg := config(addrs, topic)
		cfg.Group = "lag-" + topic
		f := read(t, cfg)
		f.count(t, 10)
		if got := groupOffset(t, c, cfg.Group, topic, 0); got != -1 {
			t.Errorf("the group is at %d before anything was durable", got)
		}
		f.src.Durable(sourcetest.At(boundary.Position{Stream: topic + "/0", Offset: 3}))
		f.src.Durable(sourcetest.At(boundary.Position{Stream: topic + "/0", Offset: 7},
			boundary.Position{Stream: topic + "/1", Offset: 0}))
		deadline := time.Now().Add(testPatience)
		for groupOffset(t, c, cfg.Group, topic, 0) != 7 {
			if time.Now().After(deadline) {
				t.Fatal("the group's offset does not follow")
			}
			<-time.After(20 * time.Millisecond)
		}
		f.end()
		// What a source resumes from is durable.
		read(t, cfg, boundary.Position{Stream: topic + "/0", Offset: 9})
		for groupOffset(t, c, cfg.Group, topic, 0) != 9 {
			if time.Now().After(deadline) {
				t.Fatal("the group's offset does not follow a restart")
			}
			<-time.After(20 * time.Millisecond)
		}
	})
}

// groupOffset is a group's committed offset, -1 when there is none.
func groupOffset(t *testing.T, c *kgo.Client, group, topic string, partition int32) int64 {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	rg := kmsg.NewOffsetFetchRequestGroup()
	rg.Group = group
	req.Groups = append(req.Groups, rg)
	res, err := req.RequestWith(t.Context(), c)
	if err != nil {
		return -1 // the coordinator is not there yet
	}
	for _, g := range res.Groups {
		for _, rt := range g.Topics {
			for _, rp := range rt.Partitions {
				if rt.Topic == topic && rp.Partition == partition {
					return rp.Offset
				}
			}
		}
	}
	return -1
}

// A position to go on from is the end, or an offset of every partition; anything else is refused.
func TestSeek(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, 2)
	c := client(t, addrs)
	put(t, c, topic, 0, numbers(0, 10)...)
	put(t, c, topic, 1, numbers(0, 3)...)
	deleteRecords(t, c, topic, 5)
	src := newSource(t, config(addrs, topic))
	for position, want := range map[string]string{
		"end":                                       "10 3",
		topic + "/0@7," + topic + "/1@0":            "7 0",
		topic + "/1@3, " + topic + "/0@10":          "10 3",
		topic + "/0@4," + topic + "/1@0":            "nothing at 4",
		topic + "/0@11," + topic + "/1@0":           "nothing at 11",
		topic + "/0@7":                              "name every partition",
		topic + "/0@7," + topic + "/1@0," + "x/0@1": "no partition x/0",
		"7": "not a position",
	} {
		got, err := src.Seek(t.Context(), position)
		slices.SortFunc(got, func(a, b boundary.Position) int { return strings.Compare(a.Stream, b.Stream) })
		text := fmt.Sprint(err)
		if err == nil {
			text = fmt.Sprint(got[0].Offset, got[1].Offset)
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want %s", position, text, want)
		}
	}
}

// Lag is what the broker has and the graph has not.
func TestLag(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, 2)
	c := client(t, addrs)
	put(t, c, topic, 0, numbers(0, 10)...)
	src := newSource(t, config(addrs, topic))
	if _, known := src.Lag(); known {
		t.Error("a lag is known before anything was read")
	}
	r := &receiver{}
	f := readSource(t, src, r)
	f.count(t, 10)
	f.until(t, "no lag", func() bool {
		f.poke()
		n, known := src.Lag()
		return known && n == 0
	})
	f.end()
	if _, known := src.Lag(); known {
		t.Error("a lag is known after the end")
	}
}

// What cannot be is refused with all that is wrong.
func TestValidate(t *testing.T) {
	_, err := New(Config{
		Topics: []string{"a", "a"}, Format: "xml", Start: Start{At: "soon", Offsets: map[string]int64{"b/0": 1}},
	})
	for _, want := range []string{"brokers are missing", "named twice", "xml", "soon", "b/0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
