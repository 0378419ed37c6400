package kafkanet

import (
	"context"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Topic is what the cluster says of a topic.
type Topic struct {
	Name string
	// ID is zero where the brokers have none for their topics: those older than 2.8.
	ID         TopicID
	Err        error // why there is nothing more to say
	Partitions []Partition
}

// Partition is one partition of a topic.
type Partition struct{ ID, Leader int }

// Topics asks the cluster for topics, and for their ids, which the client library leaves
// out. Nothing is remembered: what it says is what one broker knows now, which may be a
// moment behind the others.
func (c *Client) Topics(ctx context.Context, names []string) ([]Topic, error) {
	res, err := c.Transport.RoundTrip(ctx, c.Addr, &topicsRequest{names: names})
	if err != nil {
		return nil, err
	}
	if got := res.(*topicsAnswer); !got.unable {
		return got.topics, nil
	}
	meta, err := c.Metadata(ctx, &kafka.MetadataRequest{Topics: names})
	if err != nil {
		return nil, err
	}
	topics := make([]Topic, len(meta.Topics))
	for i := range meta.Topics {
		t := &meta.Topics[i]
		topics[i] = Topic{Name: t.Name, Err: t.Error}
		for _, p := range t.Partitions {
			topics[i].Partitions = append(topics[i].Partitions, Partition{ID: p.ID, Leader: p.Leader.ID})
		}
	}
	return topics, nil
}

// Newest asks the broker at the end of a connection for the newest version it has of a
// request; -1: it does not know it. The client library tells only of versions it knows.
func Newest(rw io.ReadWriter, key protocol.ApiKey) (int16, error) {
	d, err := NewEncoder(protocol.ApiVersions, 0, false).Send(rw)
	if err != nil {
		return 0, err
	}
	newest := int16(-1)
	code := d.Int16()
	for n := d.Count(); n > 0 && d.err == nil; n-- {
		k := d.Int16()
		d.Int16() // the oldest
		if n := d.Int16(); k == int16(key) {
			newest = n
		}
	}
	if err := d.End(); err != nil {
		return 0, fmt.Errorf("read which requests the broker knows: %w", err)
	}
	if code != 0 {
		return 0, fmt.Errorf("ask which requests the broker knows: %w", kafka.Error(code))
	}
	return newest, nil
}

// topicsVersion is the first version of a metadata request whose answer has topic ids.
const topicsVersion = 10

// topicsRequest is a metadata request that is encoded here.
type topicsRequest struct{ names []string }

// topicsAnswer is its answer. unable: the broker knows only older ones.
type topicsAnswer struct {
	unable bool
	topics []Topic
}

var _ protocol.RawExchanger = (*topicsRequest)(nil)

// ApiKey implements [protocol.Message].
func (*topicsRequest) ApiKey() protocol.ApiKey { return protocol.Metadata }

// ApiKey implements [protocol.Message].
func (*topicsAnswer) ApiKey() protocol.ApiKey { return protocol.Metadata }

// Required implements [protocol.RawExchanger].
func (*topicsRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange implements [protocol.RawExchanger].
func (r *topicsRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	newest, err := Newest(rw, protocol.Metadata)
	if err != nil {
		return nil, err
	}
	if newest < topicsVersion {
		return &topicsAnswer{unable: true}, nil
	}
	e := NewEncoder(protocol.Metadata, topicsVersion, true)
	e.Count(len(r.names))
	for _, name := range r.names {
		e.ID(TopicID{}) // it is asked for by its name
		e.String(name)
		e.NoTags()
	}
	e.Int8(0) // do not make it
	e.Int8(0) // no word of what one may do with the cluster
	e.Int8(0) // or with the topic
	e.NoTags()
	d, err := e.Send(rw)
	if err != nil {
		return nil, err
	}
	a := readTopics(d)
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("read what the broker says of the topics: %w", err)
	}
	return a, nil
}

// readTopics decodes an answer of version 10.
func readTopics(d *Decoder) *topicsAnswer {
	a := &topicsAnswer{}
	d.Tags()
	d.Int32() // throttle time: the broker delays, not the client
	for n := d.CompactCount(); n > 0 && d.err == nil; n-- {
		d.Int32()         // the broker's number
		d.CompactString() // host
		d.Int32()         // port
		d.CompactString() // rack
		d.Tags()
	}
	d.CompactString() // the cluster's id
	d.Int32()         // controller
	for n := d.CompactCount(); n > 0 && d.err == nil; n-- {
		a.topics = append(a.topics, readTopic(d))
	}
	d.Int32() // operations allowed on the cluster
	d.Tags()
	return a
}

func readTopic(d *Decoder) (t Topic) {
	if code := d.Int16(); code != 0 {
		t.Err = kafka.Error(code)
	}
	t.Name, t.ID = d.CompactString(), d.ID()
	d.Int8() // internal
	for n := d.CompactCount(); n > 0 && d.err == nil; n-- {
		d.Int16() // an error: then the leader is -1
		p := Partition{ID: int(d.Int32()), Leader: int(d.Int32())}
		d.Int32() // the leader's epoch
		for range 3 {
			for n := d.CompactCount(); n > 0 && d.err == nil; n-- {
				d.Int32() // replicas: all, in sync, offline
			}
		}
		d.Tags()
		t.Partitions = append(t.Partitions, p)
	}
	d.Int32() // operations allowed
	d.Tags()
	return t
}
