package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// effects counts what leaves a daemon, apart from it: a receiver of webhooks that lives
// through all kills, and notes what came under which firing id.
type effects struct {
	server *httptest.Server

	mu       sync.Mutex
	seed     maphash.Seed
	payloads map[uuid.UUID]uint64 // hashes, by firing id: millions of them are kept
	ids      map[int64]uuid.UUID  // the first of each number
	doubled  map[int64]bool       // numbers that came under another id too
	again    int                  // deliveries of an id that was there
	wrong    []string
}

func newEffects() *effects {
	return &effects{
		seed: maphash.MakeSeed(), payloads: map[uuid.UUID]uint64{},
		ids: map[int64]uuid.UUID{}, doubled: map[int64]bool{},
	}
}

// count is how many numbers have come.
func (e *effects) count() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int64(len(e.ids))
}

func receive(t *testing.T) *effects {
	e := newEffects()
	e.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest) // cut off by a kill: it counts as not sent
			return
		}
		e.take(r.Header.Get("Graphd-Firing-Id"), r.Header.Get("Graphd-Firing-Stable"), body)
	}))
	t.Cleanup(e.server.Close)
	return e
}

func (e *effects) take(firing, stable string, body []byte) {
	var value struct{ N int64 }
	id, err := uuid.Parse(firing)
	if err == nil {
		err = json.Unmarshal(body, &value)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil || stable != "true" {
		e.wrong = append(e.wrong, fmt.Sprintf("id %s stable %s: %q, %v", firing, stable, body, err))
	}
	payload := maphash.Bytes(e.seed, body)
	if old, ok := e.payloads[id]; ok {
		e.again++
		if old != payload {
			e.wrong = append(e.wrong, fmt.Sprintf("another payload under the id %s: %s", id, body))
		}
	}
	e.payloads[id] = payload
	if first, ok := e.ids[value.N]; !ok {
		e.ids[value.N] = id
	} else if first != id {
		e.doubled[value.N] = true
	}
}

// read takes what a file sink has written. A line that a kill has torn is one that comes again.
func (e *effects) read(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		var line struct {
			FiringID string `json:"firing_id"`
			Value    json.RawMessage
		}
		if json.Unmarshal(scanner.Bytes(), &line) == nil {
			e.take(line.FiringID, "true", line.Value)
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
}

// verdict says what is wrong when every number of must has to be there, and each that is
// there under one id.
func (e *effects) verdict(must func(yield func(int64) bool)) (problems []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	lost, doubled := 0, len(e.doubled)
	for n := range must {
		if _, ok := e.ids[n]; !ok {
			lost++
		}
	}
	if lost > 0 {
		problems = append(problems, fmt.Sprintf("%d lost", lost))
	}
	if doubled > 0 {
		problems = append(problems, fmt.Sprintf("%d under several ids", doubled))
	}
	problems = append(problems, e.wrong...)
	if len(problems) > 10 {
		problems = append(problems[:10], fmt.Sprintf("and %d more", len(problems)-10))
	}
	return problems
}

// upTo are the numbers from 0 on.
func upTo(n int64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// The moments at which kill tests end the daemon, beside random ones: those that every graph
// comes to, and those of a journal, an outbox and a mirrored source.
var (
	statePoints   = []string{"decode", "admit", "cut", "commit_sent", "commit_acknowledged"}
	journalPoints = append(slices.Clone(statePoints), "journal_sent", "journal_acknowledged")
	outboxPoints  = append(slices.Clone(statePoints), "outbox_send", "outbox_sent")
	kafkaPoints   = append(slices.Clone(outboxPoints), "offset_mirror")
)

// fewKills is how often a test kills where nothing is said: `make test-kill` says more.
const fewKills = 4

// someKills is how often a kill test of one path kills: a part of GRAPHD_KILLS, for
// [TestKillKafka] has most paths at once, but at every point once at least.
func someKills(t *testing.T, points []string) int {
	t.Helper()
	if n := kills(t, 0); n > 0 {
		return max(n/4, 2*len(points))
	}
	return fewKills
}

// endless is how long a daemon runs that does not come to the failpoint it was given; idle is that of one for which no
// more events come, which may never do.
const endless, idle = 15 * time.Second, 4 * time.Second

// killedWith has a daemon killed time and again, with so many numbers more in the file each time, and answers with how
// many they are.
func killedWith(t *testing.T, dir string, points []string, each int64, rng *rand.Rand) (total int64) {
	t.Helper()
	for i := range someKills(t, points) {
		appendNumbers(t, filepath.Join(dir, "events.ndjson"), total, total+each)
		total += each
		killed(t, dir, i, points, rng, func(p *process) { p.whole = total })
	}
	return total
}

// times is how often a daemon comes to a failpoint before that ends it, at most. A commit, and what comes once with it,
// is rare: the fortieth is not waited for.
func times(point string) int {
	if strings.HasPrefix(point, "commit_") || strings.HasPrefix(point, "offset_") {
		return 10
	}
	return 40
}

// killed is killedAs of the daemon that is tested.
func killed(t *testing.T, dir string, i int, points []string, rng *rand.Rand, seen func(p *process),
	args ...string) life {
	t.Helper()
	return killedAs(t, binary(), nil, dir, i, points, rng, seen, args...)
}

// killedAs starts a daemon, shows it to seen, and waits for its end: at random, or at a
// failpoint in turn. Every second time it lets the graph take a checkpoint first: three kills
// without one are a crash loop, and end the graph (M43). Only then is it looked at.
func killedAs(t *testing.T, program string, env []string, dir string, i int, points []string, rng *rand.Rand,
	seen func(p *process), args ...string) (l life) {
	t.Helper()
	if l.armed = i%2 == 1; l.armed {
		point := points[i/2%len(points)]
		env = append(slices.Clone(env), fmt.Sprintf("GRAPHD_FAILPOINT=%s:%d", point, 1+rng.IntN(times(point))))
	}
	p, err := launchOf(t, program, env, dir, args...)
	if errors.Is(err, errKilled) && l.armed {
		l.reached = true // before it was ready
		return l
	}
	if err != nil {
		t.Fatal(err)
	}
	seen(p)
	patience := endless
	if p.whole > 0 {
		patience = idle
	}
	if !l.armed {
		l.looked, l.consumed = true, p.advances("effects").Counters.Consumed
		patience = time.Duration(rng.IntN(200)) * time.Millisecond
	}
	select {
	case <-p.ended: // at the failpoint
		p.ended, l.reached = nil, l.armed
	case <-time.After(patience):
		p.kill()
	}
	return l
}

// declare writes a graph into a fresh directory.
func declare(t *testing.T, name, doc string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "graphs", name+".yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pushers push numbered events from several clients, whatever happens to the daemon, and
// know which were acknowledged as durable.
type pushers struct {
	next  atomic.Int64
	event func(n int64) string
	base  atomic.Pointer[string] // where the daemon is now
	token string                 // what they show it, if anything
	pause time.Duration          // of a client between two batches
	wg    sync.WaitGroup
	mu    sync.Mutex
	acked []int64
	bad   []string
}

const pushBatch = 100

func startPushers(ctx context.Context, path string, clients int) *pushers {
	return startPushersOf(ctx, path, clients, func(n int64) string { return fmt.Sprintf(`{"n":%d}`, n) })
}

// startPushersOf is startPushers with events of one's own.
func startPushersOf(ctx context.Context, path string, clients int, event func(n int64) string) *pushers {
	// Some 40,000 events a second of all clients, or a few tests take the machine for themselves.
	p := &pushers{event: event, pause: time.Duration(clients) * pushBatch * time.Second / 40_000}
	p.start(ctx, path, clients)
	return p
}

func (p *pushers) start(ctx context.Context, path string, clients int) {
	for range clients {
		p.wg.Go(func() {
			for ctx.Err() == nil {
				pause := p.pause
				if base := p.base.Load(); base == nil || !p.push(ctx, *base+path) {
					pause = 5 * time.Millisecond // the daemon is down
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
		})
	}
}

// push sends one batch, and reports whether the daemon was there.
func (p *pushers) push(ctx context.Context, url string) bool {
	from := p.next.Add(pushBatch) - pushBatch
	var b strings.Builder
	for n := from; n < from+pushBatch; n++ {
		b.WriteString(p.event(n))
		b.WriteByte('\n')
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(b.String()))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return false // nobody knows what became of it
	}
	var answer struct {
		Accepted int64
		Durable  bool
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !answer.Durable || answer.Accepted != pushBatch {
		p.bad = append(p.bad, string(body))
	}
	for n := from; n < from+pushBatch; n++ {
		p.acked = append(p.acked, n)
	}
	return true
}
