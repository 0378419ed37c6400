package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// keyed are pushes with an Idempotency-Key, each of three events, which are sent again until they are answered,
// wherever that is.
type keyed struct {
	graph string
	// at is a daemon for the n-th attempt at a push.
	at func(attempt int) *process

	mu    sync.Mutex
	tried map[int]int // by push, the attempts that were not answered with 200
}

// push makes one attempt. Some are given up before they can be answered: what has become of them is not known.
func (k *keyed) push(n, attempt int) (answer string, replayed bool, err error) {
	patience := stuck
	if attempt == 0 && n%5 == 0 {
		patience = time.Duration(n%20) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body := fmt.Sprintf(`[{"n":%d},{"n":%d},{"n":%d},nonsense]`, 3*n, 3*n+1, 3*n+2)
	if n%2 == 0 {
		body = strings.ReplaceAll(strings.Trim(body, "[]"), ",", "\n")
	} else {
		body = strings.Replace(body, ",nonsense", "", 1)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.at(attempt).base+"/v1/graphs/"+k.graph+
		"/accumulators/a/events", strings.NewReader(body))
	if err != nil {
		return "", false, err
	}
	req.Header.Set("Idempotency-Key", fmt.Sprintf("push-%d", n))
	if n%2 == 0 {
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, data)
	}
	return string(data), res.Header.Get("Idempotency-Replayed") == "true", err
}

// until pushes until there is an answer, and holds that it is the one that there has to be.
func (k *keyed) until(t *testing.T, n int) {
	for attempt := 0; ; attempt++ {
		answer, _, err := k.push(n, attempt)
		if err == nil {
			k.holds(t, n, answer)
			return
		}
		k.mu.Lock()
		if k.tried == nil {
			k.tried = map[int]int{}
		}
		k.tried[n]++
		k.mu.Unlock()
		if attempt > 300 {
			t.Errorf("push %d is not taken: %v", n, err)
			return
		}
		time.Sleep(100 * time.Millisecond) // house: the pause of a client
	}
}

// again pushes what was answered once more. Members that still hand the graph over may turn it down meanwhile.
func (k *keyed) again(t *testing.T, n int) (answer string, replayed bool) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		answer, replayed, err := k.push(n, attempt+n)
		if err == nil {
			return answer, replayed
		}
		if attempt > 300 || !strings.Contains(err.Error(), "503 ") {
			t.Fatalf("push %d again: %v", n, err)
		}
		time.Sleep(100 * time.Millisecond) // house: the pause of a client
	}
}

func (k *keyed) holds(t *testing.T, n int, answer string) {
	t.Helper()
	var got struct {
		Accepted int
		Durable  bool
		Rejected []struct {
			Index int
			Code  string
		}
	}
	refused := 1 - n%2
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Accepted != 3 || !got.Durable ||
		len(got.Rejected) != refused ||
		refused == 1 && (got.Rejected[0].Index != 3 || got.Rejected[0].Code != "invalid_json") {
		t.Errorf("push %d: %s, %v", n, answer, err)
	}
}

// storm pushes so many from several clients, and does something after each of the given counts.
func (k *keyed) storm(t *testing.T, pushes int, after map[int]func()) {
	t.Helper()
	next := make(chan int)
	var clients sync.WaitGroup
	for range 6 {
		clients.Go(func() {
			for n := range next {
				k.until(t, n)
			}
		})
	}
	for n := range pushes {
		next <- n
		if do := after[n]; do != nil {
			do()
		}
	}
	close(next)
	clients.Wait()
}

// known holds that every push is answered as it was, without being taken again; fewer of them may be known to the
// daemon that has taken them.
func (k *keyed) known(t *testing.T, pushes int) {
	t.Helper()
	for n := range pushes {
		answer, replayed := k.again(t, n)
		if !replayed {
			t.Fatalf("push %d again: %s, replayed %v", n, answer, replayed)
		}
		k.holds(t, n, answer)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	attempts := 0
	for _, n := range k.tried {
		attempts += n
	}
	t.Logf("%d pushes, %d of them sent again, %d times in all", pushes, len(k.tried), attempts)
	if len(k.tried) < pushes/20 {
		t.Error("the test is void: nearly all were answered at once")
	}
}

// M29, M53: owners are killed under pushes with keys, which are sent again to other members until they are answered:
// each event is in one row, and each push is known wherever it is sent again.
func TestM53KeysOfPushesOutliveTheirOwner(t *testing.T) {
	dsn, db := database(t, "create table effects (n bigint not null)")
	c := &cluster{t: t, dsn: dsn}
	secret := secretFile(t, strings.Repeat("s3cret-", 8))
	dir := declare(t, "g", "graph: g\ndurability: { mode: journal }\naccumulators: { a: { strategy: sequential } }\n"+
		"reactor: { strategy: sequential }\nnodes: { n: { expr: '{ \"n\": a.n }' } }\n"+
		"outputs: { rows: { from: n, sink: { postgres: { table: effects } } } }\n")
	c.all = append(c.all, start(t, dir, "--store", dsn, "--rebalance-after", "1h", "--member-listen", "127.0.0.1:0",
		"--member-secret", secret))
	for range 2 {
		c.forwarding(secret)
	}
	c.until("all know all", stuck, func() bool { return len(c.members(c.all[0])) == 3 })
	var mu sync.Mutex
	alive := append([]*process(nil), c.all...)
	k := &keyed{graph: "g", at: func(attempt int) *process {
		mu.Lock()
		defer mu.Unlock()
		return alive[attempt%len(alive)]
	}}
	kill := func() {
		var victim *process
		c.until("somebody owns the graph", stuck, func() bool {
			id := c.owner(alive[0], "g")
			for _, p := range alive {
				if c.self(p).ID == id {
					victim = p
				}
			}
			return victim != nil
		})
		victim.kill()
		mu.Lock()
		defer mu.Unlock()
		for i, p := range alive {
			if p == victim {
				alive[i] = c.forwarding(secret)
			}
		}
	}
	const pushes = 600
	k.storm(t, pushes, map[int]func(){100: kill, 250: kill, 400: kill})
	var rows, distinct int
	c.until("all are in rows", stuck, func() bool {
		err := db.QueryRow(t.Context(), "select count(*), count(distinct n) from effects").Scan(&rows, &distinct)
		return err == nil && distinct >= 3*pushes
	})
	k.known(t, pushes)
	err := db.QueryRow(t.Context(), "select count(*), count(distinct n) from effects").Scan(&rows, &distinct)
	if err != nil || rows != 3*pushes || distinct != 3*pushes {
		t.Errorf("%d rows of %d events, want %d: %v", rows, distinct, 3*pushes, err)
	}
}

// M29: on the embedded store keys hold over kills and starts of the one daemon.
func TestM29KeysOfPushesOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	dir := declare(t, "g", fmt.Sprintf(journaled, "g"))
	var mu sync.Mutex
	p := start(t, dir)
	k := &keyed{graph: "g", at: func(int) *process {
		mu.Lock()
		defer mu.Unlock()
		return p
	}}
	again := func() {
		p.kill()
		next := start(t, dir)
		mu.Lock()
		defer mu.Unlock()
		p = next
	}
	const pushes = 400
	k.storm(t, pushes, map[int]func(){80: again, 160: again, 240: again})
	p.until("all are consumed", stuck, func() bool { return p.summary("g").Counters.Consumed >= 3*pushes })
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir)
	p.until("it is live", stuck, func() bool { return p.summary("g").Health == "live" })
	k.known(t, pushes)
	if s := p.summary("g"); s.Counters.Consumed != 3*pushes {
		t.Errorf("%d events were consumed, want %d", s.Counters.Consumed, 3*pushes)
	}
}
