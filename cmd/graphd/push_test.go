package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// pushes is a daemon that answers one push after the other as it is told, and takes all of those behind them.
type pushes struct {
	*httptest.Server
	mu      sync.Mutex
	answers []func(w http.ResponseWriter)
	sent    []string // a request each: its key as a letter, in the order in which keys came, and its events
	keys    map[string]string
}

func newPushes(t *testing.T, answers ...func(w http.ResponseWriter)) *pushes {
	p := &pushes{answers: answers, keys: map[string]string{"": "-"}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.push))
	t.Cleanup(p.Close)
	return p
}

func (p *pushes) push(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	events := strings.Fields(string(body))
	key := r.Header.Get("Idempotency-Key")
	if p.keys[key] == "" {
		p.keys[key] = string(rune('a' + len(p.keys) - 1))
	}
	p.sent = append(p.sent, p.keys[key]+" "+strings.Join(events, ","))
	if len(p.answers) == 0 {
		answer(w, http.StatusOK, api.PushResult{Accepted: len(events), Durable: true, Rejected: []api.Rejection{}})
		return
	}
	next := p.answers[0]
	p.answers = p.answers[1:]
	next(w)
}

// refused is a refusal that says what was taken.
func refused(status int, code, detail string, accepted, next int, durable bool, rejected ...api.Rejection) func(
	w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		more := map[string]any{"accepted": accepted, "filtered": 0, "durable": durable, "rejected": rejected}
		if next >= 0 {
			more["next_index"] = next
		}
		refuse(w, status, code, detail, more)
	}
}

// cutOff ends the connection without an answer.
func cutOff(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// TestPushGoesOn: a push takes up where a full queue, a daemon that stops and a lost connection have left it, so that
// no event is taken twice and none is left out.
func TestPushGoesOn(t *testing.T) {
	t.Parallel()
	const full = "the accumulator's queue stayed full: send those that rejected lists as queue_full and the events " +
		"from index 2 on again later"
	was := func(index int, code string) api.Rejection {
		return api.Rejection{Index: index, Code: code, Detail: "-"}
	}
	const sum = "4 accepted (0 of them filtered), 0 rejected, durable\n"
	all := func(w http.ResponseWriter) {
		answer(w, http.StatusOK, api.PushResult{Accepted: 4, Durable: true, Rejected: []api.Rejection{}})
	}
	first := func(w http.ResponseWriter) {
		answer(w, http.StatusOK, api.PushResult{Accepted: 1, Durable: true, Rejected: []api.Rejection{}})
	}
	for name, tt := range map[string]struct {
		answers []func(w http.ResponseWriter)
		sent    []string
		stdout  string
		stderr  string
	}{
		"full at once": {
			[]func(http.ResponseWriter){refused(429, "queue_full", full, 0, 0, false)},
			[]string{"a 1,2,3,4", "b 1", "c 2,3,4"}, sum,
			"0 events sent; the push waits: the accumulator's queue stayed full\n",
		},
		"full behind some": {
			[]func(http.ResponseWriter){refused(429, "queue_full", full, 2, 2, true)},
			[]string{"a 1,2,3,4", "b 3", "c 4"}, sum,
			"2 events sent; the push waits: the accumulator's queue stayed full\n",
		},
		"a shard without room": {
			[]func(http.ResponseWriter){refused(429, "queue_full", full, 2, 3, true, was(1, "queue_full"))},
			[]string{"a 1,2,3,4", "b 2", "c 4"}, sum,
			"2 events sent; the push waits: the accumulator's queue stayed full\n",
		},
		"a shard of which nobody knows": {
			[]func(http.ResponseWriter){refused(429, "queue_full", full, 2, 3, true, was(1, "owner_unreachable")), all},
			[]string{"a 1,2,3,4", "a 1,2,3,4"}, sum,
			"0 events sent; the push waits: the accumulator's queue stayed full\n",
		},
		"one that stops": {
			[]func(http.ResponseWriter){refused(503, "graph_stopping", "it stops; send the events from index 3 on "+
				"again, as Retry-After says", 3, 3, true)},
			[]string{"a 1,2,3,4", "b 4"}, sum, "3 events sent; the push waits: it stops\n",
		},
		"not durable in time": {
			[]func(http.ResponseWriter){refused(503, "not_durable", "the disk is full", 0, -1, false), all},
			[]string{"a 1,2,3,4", "a 1,2,3,4"}, sum, "0 events sent; the push waits: the disk is full\n",
		},
		"refused in the middle": {
			[]func(http.ResponseWriter){refused(429, "queue_full", full, 1, 2, true, was(0, "schema"))},
			[]string{"a 1,2,3,4", "b 3", "c 4"}, "3 accepted (0 of them filtered), 1 rejected, durable\n",
			"2 events sent; the push waits: the accumulator's queue stayed full\nevent 1: schema: -\n",
		},
		"lost": {
			[]func(http.ResponseWriter){refused(429, "queue_full", full, 0, 0, true), cutOff, cutOff, first},
			[]string{"a 1,2,3,4", "b 1", "b 1", "b 1", "c 2,3,4"}, sum,
			"0 events sent; the push waits: the accumulator's queue stayed full\n" +
				"0 events sent; the push waits: the daemon at http://daemon did not answer: EOF\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			daemon := newPushes(t, tt.answers...)
			r := command(t.Context(), daemon.Server, "1\n2\n3\n4\n", "push", "g", "a")
			if d := cmp.Diff(tt.sent, daemon.sent); d != "" {
				t.Errorf("sent (-want +got):\n%s", d)
			}
			told := ""
			for line := range strings.Lines(r.stderr) {
				if url := `Post "http://daemon/v1/graphs/g/accumulators/a/events": `; strings.Contains(line, url) {
					line = strings.Replace(line, url, "", 1)
				}
				told += line
			}
			if r.stdout != tt.stdout || told != tt.stderr {
				t.Errorf("exit %d, %q and\n%s\nwant\n%s", r.code, r.stdout, told, tt.stderr)
			}
		})
	}
}

// TestPushEnds: --timeout bounds how long a push waits without getting on, and a refusal tells nothing of requests.
func TestPushEnds(t *testing.T) {
	t.Parallel()
	full := refused(429, "queue_full", "the accumulator's queue stayed full: send the events from index 0 on "+
		"again later", 0, 0, false)
	var much []func(http.ResponseWriter)
	for range 100 {
		much = append(much, full)
	}
	began := time.Now()
	r := command(t.Context(), newPushes(t, much...).Server, "1\n2\n", "push", "g", "a", "--timeout", "3s")
	if want := "graphd: nothing more was taken within 3s: the accumulator's queue stayed full; --timeout waits " +
		"longer\n"; r.code != 75 || !strings.HasSuffix(r.stderr, want) {
		t.Errorf("exit %d after %v: %s", r.code, time.Since(began), r.stderr)
	}
	long := func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3600"); full(w) }
	if r := command(t.Context(), newPushes(t, long).Server, "1\n", "push", "g", "a"); r.code != 75 ||
		!strings.Contains(r.stderr, "nothing more was taken within 1m0s") {
		t.Errorf("an hour: exit %d: %s", r.code, r.stderr)
	}
	if r := command(t.Context(), newPushes(t, much...).Server, "1\n2\n", "push", "g", "a", "--no-wait"); r.code != 75 ||
		!strings.Contains(r.stderr, "stayed full; the first event that was not taken is number 1 (queue_full)") {
		t.Errorf("--no-wait: exit %d: %s", r.code, r.stderr)
	}
	nobody := newPushes(t)
	nobody.Close()
	if r := command(t.Context(), nobody.Server, "1\n", "push", "g", "a"); r.code != 69 {
		t.Errorf("no daemon: exit %d: %s", r.code, r.stderr)
	}
	unsure := newPushes(t, cutOff, cutOff, cutOff)
	if r := command(t.Context(), unsure.Server, "1\n", "push", "g", "a"); r.code != 0 || len(unsure.keys) != 2 {
		t.Errorf("cut off from the beginning: exit %d, %d keys: %s", r.code, len(unsure.keys), r.stderr)
	}
	slow := func(w http.ResponseWriter) {
		answer(w, http.StatusOK, api.PushResult{Accepted: 1, Rejected: []api.Rejection{}})
	}
	// net/http repeats the first that is cut off.
	lost := newPushes(t, refused(503, "not_ready", "the daemon starts", 0, -1, false), cutOff, cutOff, slow)
	if r := command(t.Context(), lost.Server, "1\n", "push", "g", "a"); r.code != 0 ||
		!strings.Contains(r.stderr, "with durability: journal neither happens") || len(lost.keys) != 2 {
		t.Errorf("lost: exit %d, %d keys: %s", r.code, len(lost.keys), r.stderr)
	}
}

// TestPushSendsWhatHasCome: events that come slowly are sent before their input ends, and one that never ends is left
// when the command is interrupted.
func TestPushSendsWhatHasCome(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	taken := make(chan string, 2)
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		taken <- string(body)
		answer(w, http.StatusOK, api.PushResult{Accepted: 1, Durable: true, Rejected: []api.Rejection{}})
	}))
	defer daemon.Close()
	var said bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, terminal.New(in, &said, &said, func(string) string { return "" }),
			[]string{"push", "g", "a", "--server", daemon.URL})
	}()
	for _, event := range []string{"1\n", "2\n"} {
		if _, err := io.WriteString(out, event); err != nil {
			t.Fatal(err)
		}
		if got := <-taken; got != event {
			t.Errorf("sent %q, want %q", got, event)
		}
	}
	interrupt()
	if code := <-ended; code == 0 || !strings.Contains(said.String(), "stopped after ") {
		t.Errorf("interrupted: exit %d: %s", code, said.String())
	}
}

// TestPushTimeRuns: who gets on, however slowly, is not ended by --timeout.
func TestPushTimeRuns(t *testing.T) {
	t.Parallel()
	const timeout = 6 // in seconds; each wait is one, and so much less than it that a slow machine makes none too long
	var slowly []func(http.ResponseWriter)
	var all, want []string
	for i := range timeout + 2 {
		all, want = append(all, fmt.Sprint(i)), append(want, fmt.Sprintf("%c %d", 'a'+i, i))
		if i < timeout+1 {
			slowly = append(slowly, func(w http.ResponseWriter) {
				w.Header().Set("Retry-After", "1")
				refused(429, "queue_full", "full: send the events from index 1 on again later", 1, 1, false)(w)
			})
		}
	}
	want[0] = "a " + strings.Join(all, ",") // there is room until it says otherwise
	began := time.Now()
	daemon := newPushes(t, slowly...)
	r := command(t.Context(), daemon.Server, strings.Join(all, "\n"), "push", "g", "a", "--timeout",
		fmt.Sprint(timeout, "s"))
	if took := time.Since(began); r.code != 0 || took < timeout*time.Second ||
		!strings.HasPrefix(r.stdout, fmt.Sprint(len(all), " accepted")) {
		t.Errorf("exit %d after %v: %s%s", r.code, took, r.stdout, r.stderr)
	}
	if d := cmp.Diff(want, daemon.sent); d != "" {
		t.Error(fmt.Sprint("sent (-want +got):\n", d))
	}
}
