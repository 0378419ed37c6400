package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	partitions = 64
	keysEach   = 16   // keys of a partition
	feedRate   = 2500 // events a second
	feedLanes  = 4    // that write beside each other, each to partitions of its own
	// A turn writes to a few partitions, so that a loaded broker is sent few requests, and a lane comes to all of its
	// own twice a second.
	turnEvery, turnParts = 50 * time.Millisecond, 2
)

// keyedFeed writes the numbers from 0 on to a topic, for each key, in the partition that Kafka's own clients choose for
// the key. It knows of the daemons nothing.
type keyedFeed struct {
	rate    int // events a second
	keys    [partitions][]string
	lanes   [feedLanes]map[string]int64 // the number that each key of a lane is due
	written atomic.Int64
	began   time.Time
	took    time.Duration
	wait    func() error // ends it, once
}

func feedKeyed(t *testing.T, brokers []string, topic string, rate int) *keyedFeed {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &keyedFeed{rate: rate, began: time.Now()}
	var all []int
	for p := range partitions {
		all = append(all, p)
	}
	balancer := kafka.Murmur2Balancer{}
	for n, full := 0, 0; full < partitions; n++ {
		key := fmt.Sprintf("key-%d", n)
		p := balancer.Balance(kafka.Message{Key: []byte(key)}, all...)
		if len(f.keys[p]) < keysEach {
			f.keys[p] = append(f.keys[p], key)
			if len(f.keys[p]) == keysEach {
				full++
			}
		}
	}
	var lanes sync.WaitGroup
	errs := make([]error, feedLanes)
	own := &kafka.Transport{} // one that others use, too, may not know of the topic yet
	for lane := range feedLanes {
		f.lanes[lane] = map[string]int64{}
		w := &kafka.Writer{Addr: kafka.TCP(brokers...), Topic: topic, RequiredAcks: kafka.RequireAll,
			Balancer: balancer, BatchTimeout: time.Millisecond, WriteTimeout: time.Minute, ReadTimeout: time.Minute,
			Transport: own, MaxAttempts: 1} // what is sent twice could be there twice
		lanes.Go(func() {
			if errs[lane] = errors.Join(f.run(ctx, w, lane), w.Close()); errs[lane] != nil {
				t.Error(errs[lane]) // at once: others wait in vain for what nobody writes
			}
		})
	}
	f.wait = sync.OnceValue(func() error {
		stop()
		lanes.Wait()
		f.took = time.Since(f.began)
		own.CloseIdleConnections()
		return errors.Join(errs...)
	})
	t.Cleanup(func() { _ = f.wait() })
	return f
}

// run writes what is due by the clock, so that a slow broker makes turns rarer and no events fewer.
func (f *keyedFeed) run(ctx context.Context, w *kafka.Writer, lane int) error {
	ticker := time.NewTicker(turnEvery)
	defer ticker.Stop()
	rng, next := rand.New(rand.NewPCG(3, uint64(lane))), f.lanes[lane]
	written := 0
	for turn := 0; ; turn++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		due := int(time.Since(f.began).Seconds()*float64(f.rate)/feedLanes) - written
		var batch []kafka.Message
		for i := range min(due, f.rate) { // a second of all lanes at a time
			part := (turn*turnParts + i%turnParts) % (partitions / feedLanes)
			keys := f.keys[lane*(partitions/feedLanes)+part]
			key := keys[rng.IntN(len(keys))]
			batch = append(batch, kafka.Message{Key: []byte(key),
				Value: fmt.Appendf(nil, `{"k":%q,"n":%d}`, key, next[key])})
			next[key]++
		}
		if err := w.WriteMessages(context.WithoutCancel(ctx), batch...); err != nil {
			return fmt.Errorf("the producer: %w", err)
		}
		written += len(batch)
		f.written.Add(int64(len(batch)))
	}
}

// end stops it: the number that each key is due, how many events there are, and how many were written a second.
func (f *keyedFeed) end(t *testing.T) (next map[string]int64, total int64, rate float64) {
	t.Helper()
	if err := f.wait(); err != nil {
		t.Fatal(err)
	}
	next = map[string]int64{}
	for _, lane := range f.lanes {
		maps.Copy(next, lane)
	}
	return next, f.written.Load(), float64(f.written.Load()) / f.took.Seconds()
}

// keyedPush pushes numbered events of keys to whichever daemon comes next, each number once, and knows which were
// answered as taken and durable.
type keyedPush struct {
	bases func() []string
	soft  bool // what it pushes is taken and not durable yet
	next  atomic.Int64
	wg    sync.WaitGroup

	mu      sync.Mutex
	acked   map[int64]bool
	partly  map[int64]string // the answer, where it was refused in part, and this event was taken
	refused map[int64]string // the answer that says that it was not taken
	codes   map[string]int   // of what was refused
	wrong   []string
}

// pushKeys is how many keys are pushed to, pushOne how many events one request has.
const pushKeys, pushOne = 200, 20

func startKeyedPush(ctx context.Context, graph string, clients int, bases func() []string) *keyedPush {
	p := &keyedPush{bases: bases, acked: map[int64]bool{}, refused: map[int64]string{}, partly: map[int64]string{},
		codes: map[string]int{}}
	for c := range clients {
		p.wg.Go(func() {
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			for turn := c; ; turn++ {
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return
				}
				if bases := p.bases(); len(bases) > 0 {
					p.push(bases[turn%len(bases)] + "/v1/graphs/" + graph + "/accumulators/events/events")
				}
			}
		})
	}
	return p
}

// pushAnswer is what a push is answered with, whatever the status.
type pushAnswer struct {
	Code     string
	Accepted int
	Durable  bool
	Next     int `json:"next_index"`
	Rejected []struct {
		Index int
		Code  string
	}
}

// push sends one request. What nobody has answered may have been taken or not, and is not sent again.
func (p *keyedPush) push(url string) {
	from := p.next.Add(pushOne) - pushOne
	var body bytes.Buffer
	for n := from; n < from+pushOne; n++ {
		fmt.Fprintf(&body, "{\"k\":\"p%d\",\"n\":%d}\n", n%pushKeys, n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &body)
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := http.DefaultClient.Do(req)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.codes["no answer"]++
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var answer pushAnswer
	if err != nil || json.Unmarshal(text, &answer) != nil {
		p.codes["half an answer"]++
		return
	}
	if res.StatusCode != http.StatusOK {
		p.codes[fmt.Sprint(res.StatusCode, " ", answer.Code)]++
	}
	p.take(from, res.StatusCode == http.StatusOK, &answer, string(text))
}

// unknown are the codes with which it is not known what became of an event.
var unknown = map[string]bool{"owner_unreachable": true, "not_durable": true}

// take notes what an answer says of its events: which are there for good, and which were not taken.
func (p *keyedPush) take(from int64, ok bool, answer *pushAnswer, text string) {
	answer.Durable = answer.Durable || p.soft
	refused := map[int]string{}
	for _, r := range answer.Rejected {
		refused[r.Index] = r.Code
		p.codes["of an event: "+r.Code]++
	}
	if ok && (answer.Accepted != pushOne-len(refused) || answer.Accepted > 0 && !answer.Durable) {
		p.wrong = append(p.wrong, text)
	}
	for i := range pushOne {
		n := from + int64(i)
		switch code, not := refused[i]; {
		case not && !unknown[code]:
			p.refused[n] = text
		case not:
		case (ok || i < answer.Next) && answer.Durable:
			p.acked[n] = true
			if !ok {
				p.partly[n] = text
			}
		case !ok && i >= answer.Next && !unknown[answer.Code]:
			p.refused[n] = text
		}
	}
}
