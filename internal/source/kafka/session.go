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
	client *kafkanet.Client
	out    accumulator.Out

	from       map[string]int64 // resume points, by stream
	known      map[string]bool  // topics that have a resume point or were read before
	partitions []*partition     // in the order of the topics and numbers
	asking     map[int]bool     // leaders that a request is on the way to
	results    chan *result
	health     accumulator.Health
	trouble    string    // why the topics cannot be looked at; "" when they can
	failures   int       // looks in a row that failed
	lookAt     time.Time // when to look again
}

// partition is one partition and how far it has been read.
type partition struct {
	topic  string
	id     int
	stream string
	leader int // as of the last look

	next    int64 // the next to be asked for
	handed  int64 // all before has been handed over
	high    int64 // after the last there is; -1: not known
	busy    bool  // a request for it is on the way
	fetched bool  // it was read in this session

	failures  int
	notBefore time.Time
	trouble   string
	beyond    time.Time // since when the broker has less than was read; zero: it has not
}

// result is what became of a request.
type result struct {
	asked  []*partition
	leader int
	answer *answer
	err    error
}

func newSession(s *Source, client *kafkanet.Client, out accumulator.Out, from []boundary.Position) *session {
	r := &session{
		s: s, client: client, out: out, from: map[string]int64{}, known: map[string]bool{},
		asking: map[int]bool{}, results: make(chan *result), health: accumulator.Connecting,
	}
	for _, p := range from {
		if topic, _, ok := parseStream(p.Stream); ok {
			r.from[p.Stream] = p.Offset
			r.known[topic] = true
		}
	}
	return r
}

// loop looks at the topics now and then, keeps a request with every leader, and hands
// over what comes. wg joins the requests.
func (r *session) loop(ctx context.Context, wg *sync.WaitGroup) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if !time.Now().Before(r.lookAt) {
			if err := r.look(ctx); err != nil {
				return err
			}
		}
		r.launch(ctx, wg)
		timer.Reset(time.Until(r.due()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		case res := <-r.results:
			if err := r.take(ctx, wg, res); err != nil {
				return err
			}
		}
	}
}

// due is when there is something to do without an answer.
func (r *session) due() time.Time {
	at := r.lookAt
	now := time.Now()
	for _, p := range r.partitions {
		if !p.busy && p.notBefore.After(now) && p.notBefore.Before(at) {
			at = p.notBefore
		}
	}
	return at
}

// launch asks every leader that is not being asked for what it can be asked for now.
func (r *session) launch(ctx context.Context, wg *sync.WaitGroup) {
	now := time.Now()
	by := map[int][]*partition{}
	for _, p := range r.partitions {
		if !p.busy && !r.asking[p.leader] && !now.Before(p.notBefore) {
			by[p.leader] = append(by[p.leader], p)
		}
	}
	for leader, parts := range by {
		r.asking[leader] = true
		req := r.request(parts)
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
func (r *session) request(parts []*partition) *request {
	req := &request{limit: r.s.cfg.MaxBatchBytes, Request: fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(maxWait / time.Millisecond), MinBytes: 1, MaxBytes: fetchBytes,
		IsolationLevel: int8(kafka.ReadCommitted), SessionEpoch: -1,
	}}
	for _, p := range parts {
		i := slices.IndexFunc(req.Topics, func(t fetch.RequestTopic) bool { return t.Topic == p.topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, fetch.RequestTopic{Topic: p.topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, fetch.RequestPartition{
			Partition: int32(p.id), CurrentLeaderEpoch: -1, FetchOffset: p.next, LogStartOffset: -1, PartitionMaxBytes: partitionMost,
		})
	}
	return req
}

// ask sends a request and reads its answer.
func (r *session) ask(ctx context.Context, req *request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait+patience)
	defer cancel()
	res, err := r.client.Transport.RoundTrip(ctx, r.client.Addr, req)
	if err != nil {
		return nil, err
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
		for _, p := range res.asked {
			p.fail(res.err)
		}
		r.say()
		return ctx.Err()
	}
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
			continue
		}
		batches, err := cut(c.records, r.s.cfg.MaxBatchBytes)
		if err != nil {
			return fmt.Errorf("read %s: %w", p.stream, err)
		}
		p.failures, p.trouble, p.high, p.fetched, p.beyond = 0, "", c.high, true, time.Time{}
		if len(batches) > 0 {
			p.next = max(p.next, batches[len(batches)-1].last+1)
			portions = append(portions, portion{p, c, batches})
		}
	}
	r.rotate(res.asked)
	r.launch(ctx, wg)
	r.say()
	for _, x := range portions {
		if err := r.deliver(ctx, x.p, x.c, x.batches); err != nil {
			return err
		}
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
	e := &events{cfg: &r.s.cfg, out: r.out, topic: p.topic, id: int32(p.id), stream: p.stream, from: p.handed}
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
	// Offsets at the end may be gaps: control records, or what compaction has removed.
	return r.out.Advance(ctx, boundary.Position{Stream: p.stream, Offset: end})
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
	if h != r.health {
		r.health = h
		r.out.Health(h, detail)
	}
}
