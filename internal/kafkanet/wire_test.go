package kafkanet

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Topics come with their ids where the brokers have such, one that is not there with an
// error, and none is made by being asked for.
func TestTopics(t *testing.T) {
	for name, x := range map[string]struct {
		opts []kfake.Opt
		ids  bool
	}{
		"newest": {nil, true},
		"2.8":    {[]kfake.Opt{kfake.MaxVersions(kversion.V2_8_0())}, true},
		"2.7":    {[]kfake.Opt{kfake.MaxVersions(kversion.V2_7_0())}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := kfake.NewCluster(append([]kfake.Opt{
				kfake.NumBrokers(3), kfake.SeedTopics(4, "a"), kfake.SeedTopics(1, "b"), kfake.AllowAutoTopicCreation(),
			}, x.opts...)...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			names := []string{"a", "b", "none"}
			client, err := New(Config{Brokers: c.ListenAddrs()}, names)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for range 2 { // asking makes nothing
				topics, err := client.Topics(t.Context(), names)
				if err != nil || len(topics) != 3 {
					t.Fatalf("%+v, %v", topics, err)
				}
				by := map[string]Topic{}
				for _, topic := range topics {
					by[topic.Name] = topic
				}
				a, b := by["a"], by["b"]
				if len(a.Partitions) != 4 || len(b.Partitions) != 1 || a.Err != nil || by["none"].Err == nil {
					t.Fatalf("%+v", topics)
				}
				if a.ID.IsZero() == x.ids || x.ids && a.ID == b.ID || !by["none"].ID.IsZero() {
					t.Errorf("ids %s and %s", a.ID, b.ID)
				}
				if want := c.TopicInfo("a"); x.ids && a.ID != TopicID(want.TopicID) {
					t.Errorf("the id is %s, want %x", a.ID, want.TopicID)
				}
			}
		})
	}
}

// An id is written as Kafka's own tools write it.
func TestTopicID(t *testing.T) {
	id := TopicID{0x98, 0x7f, 0x5c, 0xd8}
	if got := id.String(); got != "mH9c2AAAAAAAAAAAAAAAAA" {
		t.Errorf("it is shown as %s", got)
	}
	if back, ok := ParseTopicID(id.String()); !ok || back != id {
		t.Errorf("it comes back as %s", back)
	}
	for _, text := range []string{"", "mH9c2", "mH9c2AAAAAAAAAAAAAAAA=", "mH9c2AAAAAAAAAAAAAAAAA0"} {
		if _, ok := ParseTopicID(text); ok {
			t.Errorf("%q is taken", text)
		}
	}
}

// Answers that say of themselves what is not so end with an error, soon, and hold little.
func TestLyingAnswers(t *testing.T) {
	frame := func(claimed uint32, body ...byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, claimed)
		return append(append(b, 0, 0, 0, Correlation), body...)
	}
	many := []byte{0xff, 0xff, 0xff, 0xff, 0x07} // as many as there can be
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"shorter than it says":  frame(1000, 0, 0, 0, 0, 0, 0),
		"another request's":     {0, 0, 0, 4, 0, 0, 0, 9},
		"no room for a number":  {0, 0, 0, 2, 0, 0},
		"brokers without end":   frame(1<<31-1, append([]byte{0, 0, 0, 0, 0}, many...)...),
		"tags without end":      frame(1<<31-1, many...),
		"a length without end":  frame(1<<31-1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"a name beyond reason":  frame(1<<31-1, append([]byte{0, 0, 0, 0, 0, 2, 0, 0, 0, 1}, many...)...),
		"longer than it says":   frame(20, bytes.Repeat([]byte{0}, 16)...),
		"topics without an end": frame(1<<31-1, append([]byte{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}, many...)...),
	} {
		var took time.Duration
		for range 5 { // a busy machine does not keep each of them waiting
			began := time.Now()
			d, err := Answer(bytes.NewReader(b))
			if err == nil {
				readTopics(d)
				err = d.End()
			}
			if err == nil {
				t.Errorf("%s is taken", name)
			}
			if took = time.Since(began); took < time.Second {
				break
			}
		}
		if took > time.Second {
			t.Errorf("%s: looked at for %v", name, took)
		}
	}
}
