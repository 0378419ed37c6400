package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/kafkanet/portion"
	"github.com/graphd/graphd/internal/kafkanet/room"
)

// How a leader is asked: it answers as soon as there is something, or after maxWait.
const (
	maxWait       = 500 * time.Millisecond
	fetchBytes    = 4 << 20 // of all partitions together
	partitionMost = 1 << 20 // of one, so that a full one leaves room for others
	// patience is what an answer may take beyond maxWait before the leader counts as lost.
	patience = 5 * time.Second
	// lookEvery is how often the topics are looked at for new partitions and leaders.
	lookEvery = time.Second
)

// session is one run of a Source.
type session struct {
	s      *Source
	with   *kept
	client *kafkanet.Client
	out    accumulator.Out
	room   room.Room // of all events

	from       map[string]place     // resume points, by stream
	known      map[string]bool      // families that have a resume point or were read before
	uneven     *portion.UnevenError // why nothing is read; nil: it is
	partitions []*partition         // in the order of the topics and numbers
	asking     map[int]bool         // leaders that a request is on the way to
	results    chan *result
	looking    bool // a look at the topics is on the way
	looks      chan *seen
	health     accumulator.Health
	said       string    // why it is uneven, as it was told
	trouble    string    // why the topics cannot be looked at; "" when they can
	failures   int       // looks in a row that failed
	lookAt     time.Time // when to look again
}

// partition is one partition and how far it has been read.
type partition struct {
	topic  string
	id     int
	stream string // without the generation
	gen    generation
	leader int // as of the last look

	next   int64 // the next to be asked for
	handed int64 // all before has been handed over
	high   int64 // after the last there is; -1: not known
	busy   bool  // a request for it is on the way
	caught bool  // the graph was told that all there is was handed over

	failures  int
	notBefore time.Time
	trouble   string
	beyond    time.Time // since when the broker has less than was read; zero: it has not
	anew      time.Time // since when the topic is said to have been made anew; zero: it is not
	now       kafkanet.TopicID
	byID      bool // the leader is asked by the topic's id, and would notice another topic
	doubted   bool // it is to be seen whether the topic was made anew, by the witness
}

// at is a position in the partition.
func (p *partition) at(offset int64) boundary.Position {
	return boundary.Position{Stream: streamIn(p.stream, p.gen), Offset: offset}
}

// result is what became of a request.
type result struct {
	asked  []*partition
	leader int
	answer *answer
	err    error
}

func newSession(s *Source, with *kept, out accumulator.Out, from map[string]place) *session {
	r := &session{
		s: s, with: with, client: with.client, out: out, from: from, known: map[string]bool{},
		asking: map[int]bool{}, results: make(chan *result), looks: make(chan *seen), health: accumulator.Connecting,
	}
	for _, p := range from {
		r.known[s.part.Family(p.topic, p.id)] = true
	}
	return r
}

// loop looks at the topics now and then, keeps a request with every leader, and hands
// over what comes. wg joins the requests.
func (r *session) loop(ctx context.Context, wg *sync.WaitGroup) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	if seen := r.with.look(r.s.every); seen != nil {
		if err := r.looked(ctx, seen); err != nil {
			return err
		}
	}
	for {
		if !r.looking && !time.Now().Before(r.lookAt) {
			r.look(ctx, wg)
		}
		r.launch(ctx, wg)
		timer.Reset(time.Until(r.due()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		case seen := <-r.looks:
			if err := r.looked(ctx, seen); err != nil {
				return err
			}
		case res := <-r.results:
			if err := r.take(ctx, wg, res); err != nil {
				return err
			}
		}
	}
}

// due is when there is something to do without an answer.
func (r *session) due() time.Time {
	now := time.Now()
	at := r.lookAt
	if r.looking {
		at = now.Add(r.s.every)
	}
	for _, p := range r.partitions {
		if !p.busy && p.notBefore.After(now) && p.notBefore.Before(at) {
			at = p.notBefore
		}
	}
	return at
}

// launch asks every leader that is not being asked for what it can be asked for now.
func (r *session) launch(ctx context.Context, wg *sync.WaitGroup) {
	if r.uneven != nil {
		return
	}
	now := time.Now()
	by := map[int][]*partition{}
	for _, p := range r.partitions {
		if !p.busy && p.anew.IsZero() && !r.asking[p.leader] && !now.Before(p.notBefore) {
			by[p.leader] = append(by[p.leader], p)
		}
	}
	for leader, parts := range by {
		r.asking[leader] = true
		req := r.request(leader, parts)
		req.newest = r.with.newest[leader]
		for _, p := range parts {
			p.busy = true
		}
		wg.Go(func() {
			res := &result{asked: parts, leader: leader}
			res.answer, res.err = r.ask(ctx, req)
			select {
			case r.results <- res:
			case <-ctx.Done():
			}
		})
	}
}

// request asks one leader for what follows in partitions. The one that was read last is
// asked for last, so that a leader that fills its answer with the first starves none.
func (r *session) request(leader int, parts []*partition) *request {
	req := &request{leader: int32(leader), limit: r.s.cfg.MaxBatchBytes, ids: map[string]kafkanet.TopicID{}}
	req.Request = fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(maxWait / time.Millisecond), MinBytes: 1, MaxBytes: fetchBytes,
		IsolationLevel: int8(kafka.ReadCommitted), SessionEpoch: -1,
	}
	for _, p := range parts {
		if id := p.gen.id; req.ids != nil && !id.IsZero() {
			req.ids[p.topic] = id
		} else {
			req.ids = nil // all by their ids, or none
		}
		i := slices.IndexFunc(req.Topics, func(t fetch.RequestTopic) bool { return t.Topic == p.topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, fetch.RequestTopic{Topic: p.topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p.from(p.next))
	}
	return req
}

// from asks for what follows an offset.
func (p *partition) from(offset int64) fetch.RequestPartition {
	return fetch.RequestPartition{
		Partition: int32(p.id), CurrentLeaderEpoch: -1, FetchOffset: offset, LogStartOffset: -1,
		PartitionMaxBytes: partitionMost,
	}
}

// ask sends a request and reads its answer.
func (r *session) ask(ctx context.Context, req *request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait+patience)
	defer cancel()
	res, err := r.client.Transport.RoundTrip(ctx, r.client.Addr, req)
	if err != nil {
		return nil, r.client.Hide(err)
	}
	return res.(*answer), nil
}

// take acts on one result: the next request is on its way before this one is handed over.
func (r *session) take(ctx context.Context, wg *sync.WaitGroup, res *result) error {
	delete(r.asking, res.leader)
	for _, p := range res.asked {
		p.busy = false
	}
	if res.err == nil && res.answer.code != 0 {
		res.err = kafka.Error(res.answer.code)
	}
	if res.err != nil {
		delete(r.with.newest, res.leader) // it may be another one when it is back
		for _, p := range res.asked {
			p.fail(res.err)
		}
		r.lookAt = time.Now() // another broker may lead now
		r.say()
		return ctx.Err()
	}
	r.with.newest[res.leader], r.with.heard = res.answer.newest, time.Now()
	type portion struct {
		p       *partition
		c       *chunk
		batches []batch
	}
	var portions []portion
	for _, p := range res.asked {
		c := res.answer.of(p)
		if c == nil {
			p.fail(errors.New("the leader did not answer for it"))
			continue
		}
		if c.code != 0 {
			if err := r.refused(ctx, p, kafka.Error(c.code)); err != nil {
				return err
			}
			r.lookAt = time.Now()
			continue
		}
		batches, err := cut(c.records, r.s.cfg.MaxBatchBytes)
		if err != nil {
			return fmt.Errorf("read %s: %w", p.stream, err)
		}
		if p.doubted {
			if err := r.believe(ctx, p); err != nil {
				return err
			}
			if p.doubted {
				continue
			}
		}
		p.failures, p.trouble, p.high, p.beyond, p.byID = 0, "", c.high, time.Time{}, res.answer.byID
		if len(batches) > 0 {
			p.next = max(p.next, batches[len(batches)-1].last+1)
			portions = append(portions, portion{p, c, batches})
		}
	}
	r.rotate(res.asked)
	r.launch(ctx, wg)
	r.say()
	for _, p := range res.asked { // all that have fallen behind, before anything is handed over
		r.pace(p)
	}
	for _, x := range portions {
		if err := r.deliver(ctx, x.p, x.c, x.batches); err != nil {
			return err
		}
		r.pace(x.p)
	}
	r.countLag()
	return nil
}

// rotate moves the partition that was asked for first behind the others, so that its
// records do not fill every answer.
func (r *session) rotate(asked []*partition) {
	if len(asked) < 2 || len(r.partitions) < 2 {
		return
	}
	i := slices.Index(r.partitions, asked[0])
	r.partitions = append(slices.Delete(r.partitions, i, i+1), asked[0])
}

func (a *answer) of(p *partition) *chunk {
	for i := range a.partitions {
		if c := &a.partitions[i]; int(c.id) == p.id && c.topic == p.topic {
			return c
		}
	}
	return nil
}

// deliver hands over what an answer holds of one partition.
func (r *session) deliver(ctx context.Context, p *partition, c *chunk, batches []batch) error {
	e := &events{cfg: &r.s.cfg, out: r.out, room: &r.room, topic: p.topic, id: int32(p.id), stream: p.at(0).Stream,
		from: p.handed}
	for i := range batches {
		e.many += batches[i].count
	}
	tx := newTransactions(c.aborted)
	end := p.handed
	for i := range batches {
		b := &batches[i]
		end = max(end, b.last+1)
		if !tx.counts(b) {
			continue
		}
		if err := e.batch(ctx, b); err != nil {
			return err
		}
	}
	if err := e.flush(ctx); err != nil {
		return err
	}
	p.handed = end
	if !p.byID && e.last.known && e.last.millis >= 0 {
		p.gen.witness = e.last
	}
	// Offsets at the end may be gaps: control records, or what compaction has removed.
	return r.out.Advance(ctx, p.at(end))
}

// pace tells when a partition has caught up with what there is, and when it has fallen behind again.
func (r *session) pace(p *partition) {
	if caught := p.high >= 0 && p.handed >= p.high; caught != p.caught {
		p.caught = caught
		accumulator.CaughtUp(r.out, p.stream, caught)
	}
}

// countLag tells how many records wait in the broker.
func (r *session) countLag() {
	var sum int64
	for _, p := range r.partitions {
		if p.high < 0 {
			r.s.lag.Store(-1)
			return
		}
		sum += max(0, p.high-p.handed)
	}
	r.s.lag.Store(sum)
}

// fail puts a partition off for a while.
func (p *partition) fail(err error) {
	p.failures++
	p.doubted = !p.byID && p.gen.witness.known
	p.trouble = fmt.Sprintf("%s: %v", p.stream, err)
	p.notBefore = time.Now().Add(kafkanet.Backoff(p.failures))
}

// say tells a change of health: at once when something is lost, live again when nothing is.
func (r *session) say() {
	h, detail := accumulator.Live, ""
	if r.trouble != "" {
		h, detail = accumulator.Disconnected, r.trouble
	}
	for _, p := range r.partitions {
		if p.trouble != "" {
			h, detail = accumulator.Disconnected, p.trouble
			break
		}
	}
	if r.uneven != nil {
		if text := r.uneven.Error(); text != r.said {
			r.said, r.health = text, accumulator.Disconnected
			accumulator.Trouble(r.out, r.uneven.Code(), text)
		}
		return
	}
	if h != r.health || r.said != "" {
		r.said, r.health = "", h
		r.out.Health(h, detail)
	}
}
