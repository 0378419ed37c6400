package kafka

import (
	"fmt"
	"io"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/graphd/graphd/internal/kafkanet"
)

// request is a fetch from one leader whose answer is read here and not by the client
// library: that one would decompress whatever the answer holds, whatever it comes to.
//
// Where broker and topics allow it, a fetch names its topics by their ids: a broker then
// refuses to answer with what a topic holds that was made anew under the same name.
type request struct {
	fetch.Request
	leader  int32
	ids     map[string]kafkanet.TopicID // of the topics; empty when one has none
	limit   int                         // bounds what is kept of one partition's records
	newest  int16                       // the newest version that the broker speaks; 0: not known
	version int16                       // of the protocol, as negotiated for the connection
}

var (
	_ protocol.BrokerMessage = (*request)(nil)
	_ protocol.RawExchanger  = (*request)(nil)
)

// Versions of a fetch that the answer is read in: 4 has transactions, 12 is another
// encoding, 13 names topics by their ids.
const (
	minVersion  = 4
	maxByName   = 11
	versionByID = 13
)

// answer is what a leader has of the partitions it was asked for.
type answer struct {
	code       int16
	partitions []chunk
	newest     int16 // what the request has learned of the broker
	byID       bool  // the topics were named by their ids
}

// ApiKey implements [protocol.Message].
func (*answer) ApiKey() protocol.ApiKey { return protocol.Fetch }

// chunk is what an answer holds of one partition.
type chunk struct {
	topic   string
	id      int32
	code    int16
	high    int64 // the offset after the last record that may be read
	aborted []abortedTransaction
	records []byte // record batches; the last may be cut short
}

// abortedTransaction says that what a producer wrote in a transaction does not count.
type abortedTransaction struct{ producer, first int64 }

// Broker implements [protocol.BrokerMessage]: the leader is that of the last look, which
// may know a topic before the client library does.
func (r *request) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	b, ok := cluster.Brokers[r.leader]
	if !ok {
		return b, fmt.Errorf("the leader, broker %d, is not known yet", r.leader)
	}
	return b, nil
}

// Required implements [protocol.RawExchanger].
func (r *request) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = min(versions[protocol.Fetch], maxByName)
	return true
}

// RawExchange implements [protocol.RawExchanger].
func (r *request) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < minVersion {
		return nil, fmt.Errorf("the broker speaks version %d of a fetch, at least %d is needed: Kafka 0.11 or newer",
			r.version, minVersion)
	}
	d, err := r.send(rw)
	if err != nil {
		return nil, err
	}
	a := r.read(d)
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("read the answer to a fetch: %w", err)
	}
	a.newest, a.byID = r.newest, r.version == versionByID
	return a, nil
}

// send sends the request in the best encoding that the broker knows.
func (r *request) send(rw io.ReadWriter) (d *kafkanet.Decoder, err error) {
	if len(r.ids) > 0 && r.newest == 0 {
		if r.newest, err = kafkanet.Newest(rw, protocol.Fetch); err != nil {
			return nil, err
		}
	}
	if len(r.ids) > 0 && r.newest >= versionByID {
		r.version = versionByID
		return r.byID().Send(rw)
	}
	if err := protocol.WriteRequest(rw, r.version, kafkanet.Correlation, kafkanet.ClientID, &r.Request); err != nil {
		return nil, err
	}
	return kafkanet.Answer(rw)
}

// byID is the request in version 13.
func (r *request) byID() *kafkanet.Encoder {
	e := kafkanet.NewEncoder(protocol.Fetch, versionByID, true)
	e.Int32(r.ReplicaID)
	e.Int32(r.MaxWaitTime)
	e.Int32(r.MinBytes)
	e.Int32(r.MaxBytes)
	e.Int8(r.IsolationLevel)
	e.Int32(r.SessionID)
	e.Int32(r.SessionEpoch)
	e.Count(len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		e.ID(r.ids[t.Topic])
		e.Count(len(t.Partitions))
		for _, p := range t.Partitions {
			e.Int32(p.Partition)
			e.Int32(p.CurrentLeaderEpoch)
			e.Int64(p.FetchOffset)
			e.Int32(-1) // the epoch of what was fetched last: only replicas follow it
			e.Int64(p.LogStartOffset)
			e.Int32(p.PartitionMaxBytes)
			e.NoTags()
		}
		e.NoTags()
	}
	e.Count(0)   // forgotten topics: there is no session
	e.String("") // rack
	e.NoTags()
	return e
}

// read decodes an answer.
func (r *request) read(d *kafkanet.Decoder) *answer {
	if r.version == versionByID {
		return r.readByID(d)
	}
	return r.readByName(d)
}

// readByName decodes an answer in the versions 4 to 11.
func (r *request) readByName(d *kafkanet.Decoder) *answer {
	a := &answer{}
	d.Int32() // throttle time: the broker delays, not the client
	if r.version >= 7 {
		a.code = d.Int16()
		d.Int32() // session
	}
	for range d.Count() {
		topic := d.String()
		for range d.Count() {
			c := chunk{topic: topic, id: d.Int32(), code: d.Int16()}
			d.Int64()          // high watermark: may end within a transaction
			c.high = d.Int64() // last stable offset
			if r.version >= 5 {
				d.Int64() // start of the log
			}
			for n := d.Count(); n > 0 && d.Err() == nil; n-- {
				c.aborted = append(c.aborted, abortedTransaction{producer: d.Int64(), first: d.Int64()})
			}
			if r.version >= 11 {
				d.Int32() // preferred replica: none is asked for
			}
			c.records = d.Bytes(r.limit)
			if d.Err() != nil {
				return a
			}
			a.partitions = append(a.partitions, c)
		}
	}
	return a
}

// readByID decodes an answer in version 13.
func (r *request) readByID(d *kafkanet.Decoder) *answer {
	a := &answer{}
	d.Tags()
	d.Int32() // throttle time
	a.code = d.Int16()
	d.Int32() // session
	for range d.CompactCount() {
		topic := r.name(d.ID())
		for range d.CompactCount() {
			c := chunk{topic: topic, id: d.Int32(), code: d.Int16()}
			d.Int64() // high watermark
			c.high = d.Int64()
			d.Int64() // start of the log
			for n := d.CompactCount(); n > 0 && d.Err() == nil; n-- {
				c.aborted = append(c.aborted, abortedTransaction{producer: d.Int64(), first: d.Int64()})
				d.Tags()
			}
			d.Int32() // preferred replica
			c.records = d.CompactBytes(r.limit)
			if d.Tags(); d.Err() != nil {
				return a
			}
			a.partitions = append(a.partitions, c)
		}
		d.Tags()
	}
	d.Tags()
	return a
}

// name is the topic that was asked for by an id.
func (r *request) name(id kafkanet.TopicID) string {
	for name, have := range r.ids {
		if have == id {
			return name
		}
	}
	return ""
}
