package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/testbed"
)

// peers are two daemons, each a process, on one database.
type peers struct {
	bin    daemons
	dir    string
	dsn    string
	secret string
	out    *safeBuffer

	mu  sync.Mutex
	two [2]*daemon
}

// start starts one of them, as it is started again.
func (p *peers) start(ctx context.Context, i int) error {
	return until(func() error {
		d, err := p.bin.serveWith(ctx, p.out, "", "--listen", "127.0.0.1:0", "--store", p.dsn, "--member-listen",
			"127.0.0.1:0", "--member-secret", p.secret, "--rebalance-after", "1s", "--data",
			filepath.Join(p.dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if d.base == "" {
			return errors.New("a daemon has ended before it was ready")
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.two[i] = d
		return nil
	})
}

func (p *peers) at(i int) *daemon {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.two[i]
}

// ask makes a request of one of them.
func (p *peers) ask(ctx context.Context, i int, method, path, key string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, p.at(i).base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPut {
		req.Header.Set("Content-Type", "application/yaml")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s: %s", res.Status, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

// fault kills one of them and starts it again, or has it drained until it has nothing.
func (p *peers) fault(ctx context.Context, n int, r *rand.Rand) error {
	i := r.IntN(2)
	if n%2 == 0 {
		p.at(i).kill()
		return p.start(ctx, i)
	}
	drain := func(drained bool) error {
		return until(func() error {
			var all struct{ Items []api.Member }
			if err := p.ask(ctx, 1-i, http.MethodGet, "/v1/members", "", nil, &all); err != nil {
				return err
			}
			for k := range all.Items {
				m := &all.Items[k]
				if m.Self || m.State == "expired" {
					continue
				}
				err := p.ask(ctx, 1-i, http.MethodPost, "/v1/members/"+m.ID+"/drain", "", text(tree{"undo": !drained}),
					nil)
				if err == nil && drained && len(m.Graphs) > 0 {
					err = errors.New("it runs something still")
				}
				return err
			}
			return errors.New("the other member is not there")
		})
	}
	return errors.Join(drain(true), drain(false))
}

// push pushes the events of an instant at either of them until each is taken; see [pair.push].
func (p *peers) push(ctx context.Context, k int, at *instantOf) (again bool, err error) {
	tries, body := 0, text(rawOf(at.events[0]))
	path := "/v1/graphs/random/accumulators/" + at.inputs[0] + "/events"
	err = until(func() error {
		tries++
		ctx, cancel := context.WithTimeout(ctx, patience/2)
		defer cancel()
		var res api.PushResult
		err := p.ask(ctx, (k+tries)%2, http.MethodPost, path, fmt.Sprint("instant-", k), body, &res)
		if err == nil && slices.ContainsFunc(res.Rejected, func(r api.Rejection) bool {
			return slices.Contains(turnedAway(), r.Code)
		}) {
			err = fmt.Errorf("events are turned away: %s", text(res))
		}
		return err
	})
	return tries > 1, err
}

func rawOf(events []string) (all []json.RawMessage) {
	for _, e := range events {
		all = append(all, json.RawMessage(e))
	}
	return all
}

// come waits until all shards have taken in so many events, and stand at one place of the topic.
func (p *peers) come(ctx context.Context, events int64, of string, done func(sum *api.GraphSummary) bool) error {
	var sum api.GraphSummary
	return until(func() error {
		sum = api.GraphSummary{}
		err := p.ask(ctx, 0, http.MethodGet, "/v1/graphs/random", "", nil, &sum)
		if err != nil {
			return err
		}
		place := of == ""
		for i := range sum.Accumulators {
			place = place || sum.Accumulators[i].Name == of && sum.Accumulators[i].Position != ""
		}
		if sum.Health != "live" || taken(&sum) < events || !place || done != nil && !done(&sum) {
			return fmt.Errorf("%d events have not come, or the books are wrong: %s", events, text(sum))
		}
		return nil
	})
}

// taken is what was received, but for what was turned away and came again, and for what joins have of their sides.
func taken(sum *api.GraphSummary) (n int64) {
	for i := range sum.Accumulators {
		if a := &sum.Accumulators[i]; a.From == "" {
			n += a.Counters.Received - a.Counters.Rejected
		}
	}
	return n
}

// moved is what two processes say that are drained and killed in turn, of which the first input is a topic and the
// others are pushed. Each instant comes when the one before is in all shards.
func (b daemons) moved(w *wide, t *testing.T, doc tree, seed uint64, want *spoken, brokers []string) (*spoken, error) {
	p := &peers{bin: b, dir: t.TempDir(), dsn: testbed.Postgres(t), out: &safeBuffer{}}
	p.secret = filepath.Join(p.dir, "secret")
	if err := os.WriteFile(p.secret, []byte(strings.Repeat("secret of members ", 3)), 0o600); err != nil {
		return nil, err
	}
	input, topic := w.inputs[0].name, testbed.Topic(t, brokers, 1)
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	live, err := written(printed(doc), func(doc tree) {
		d := w.often(doc, seed)
		d["mode"] = "journal"
		doc["durability"] = d
		accs, _ := doc["accumulators"].(tree)
		acc, _ := accs[input].(tree)
		acc["source"] = tree{"kafka": tree{"topic": topic, "brokers": brokers}}
	})
	if err != nil {
		return nil, err
	}
	ctx := t.Context()
	defer func() {
		for _, d := range p.two {
			if d != nil {
				d.kill()
			}
		}
	}()
	for i := range p.two {
		if err := p.start(ctx, i); err != nil {
			return nil, err
		}
	}
	if err := until(func() error {
		return p.ask(ctx, 0, http.MethodPut, "/v1/graphs/random", "", []byte(live), nil)
	}); err != nil {
		return nil, err
	}
	r, instants, s := rand.New(rand.NewPCG(seed, 54)), w.instants(), newSpoken()
	var faulting sync.WaitGroup
	var failed error
	defer faulting.Wait()
	given, place := int64(0), ""
	for k, at := range instants {
		if n := len(instants)/4 + 1; k%n == n/2 {
			if faulting.Wait(); failed != nil {
				return nil, failed
			}
			faulting.Go(func() { failed = p.fault(ctx, k/n, r) })
		}
		given += int64(len(at.events[0]))
		if at.inputs[0] != input {
			again, err := p.push(ctx, k, &at)
			if err != nil {
				return nil, err
			}
			if again && len(at.events[0]) > 1 {
				s.torn = append(s.torn, k)
			}
			continue
		}
		var records []*kgo.Record
		for _, e := range at.events[0] {
			records = append(records, &kgo.Record{Value: []byte(e)})
		}
		place = input
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return nil, err
		}
		if err := p.come(ctx, given, place, nil); err != nil {
			return nil, err
		}
	}
	if faulting.Wait(); failed != nil {
		return nil, failed
	}
	err = p.come(ctx, given, place, func(sum *api.GraphSummary) bool {
		for i := range sum.Accumulators {
			s.books[sum.Accumulators[i].Name] = booksOf(&sum.Accumulators[i].Counters)
		}
		s.gone = want.gone
		pending := slices.ContainsFunc(sum.Outputs, func(o api.OutputSummary) bool { return o.Pending > 0 })
		return !pending && (w.sameKept(s, want) || len(s.torn) > 0)
	})
	for i, d := range p.two {
		_ = d.cmd.Process.Signal(syscall.SIGTERM) // what is said by now is written before it ends
		select {
		case <-d.ended:
		case <-time.After(patience):
		}
		d.kill()
		p.two[i] = nil
	}
	if err == nil {
		err = s.values(p.out.b.Bytes())
	}
	for _, lines := range s.outputs { // of two processes, each read by itself
		slices.SortStableFunc(lines, func(a, b string) int { return int(epochOf(a) - epochOf(b)) })
	}
	for name, b := range s.books {
		if n := b.received - want.books[name].received; n > 0 && n == b.refused-want.books[name].refused {
			s.books[name] = want.books[name] // turned away, and come again
			b.received, b.refused = b.received-n, b.refused-n
			s.books[name] = b
		}
	}
	return s, err
}

// sameKept reports whether the books are the same, but for what was turned away and came again.
func (w *wide) sameKept(got, want *spoken) bool {
	g, e := w.shared(got), w.shared(want)
	for name, b := range e.books {
		a := g.books[name]
		a.received, b.received = a.received-a.refused, b.received-b.refused
		if a.refused < b.refused {
			return false
		}
		if a.refused, b.refused = 0, 0; a != b {
			return false
		}
	}
	return true
}

func epochOf(line string) int64 {
	n, _, _ := strings.Cut(line, " ")
	return atoi(n)
}

// M52, M53: two real daemons on one database, of which one is drained or killed in turn while events come by a topic
// and by pushes to either, say of each key what a bounded run says. SHARD_PEERS is how many declarations, DIFF_SEED
// one.
func TestM52MovedProcessesSayWhatOneSays(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	bin := daemons(filepath.Join(t.TempDir(), "graphd"))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", string(bin), "github.com/graphd/graphd/cmd/graphd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	brokers, many := testbed.Kafka(t), 3
	if text := os.Getenv("SHARD_PEERS"); text != "" {
		many = int(atoi(text))
	}
	first := firstShardSeed(t)
	if os.Getenv("DIFF_SEED") != "" {
		many = 1
	}
	all := newTally()
	way := shardWay{name: "two processes", numbers: []int{2, 7}, one: true, says: func(w *wide, t *testing.T, doc tree,
		seed uint64, want *spoken) (*spoken, error) {
		return bin.moved(w, t, doc, seed, want, brokers)
	}}
	next, working := make(chan uint64), sync.WaitGroup{}
	for range 3 {
		working.Go(func() {
			for seed := range next {
				liveShards(t, seed, 0, []shardWay{way}, all)
			}
		})
	}
	for seed := first; many > 0; seed++ {
		if w := newLiveDealt(seed); w != nil && w.apart && !w.asOne && !w.broken && w.inputs[0].acc["global"] == nil &&
			len(w.inputs) > 1 && len(w.instants()) < 250 {
			next <- seed
			many--
		}
	}
	close(next)
	working.Wait()
	t.Logf("%v %v", all.ways, all.took)
}
