package everyday

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// called is how many requests the test makes, of so many accounts.
const called, accounts = 1200, 300

// request is one, and what a plain program answers, to which output: some are known to nobody.
func request(n int) (line, output, answer string) {
	account, score := n*7919%accounts, n*31%101
	line = fmt.Sprintf(`{"id":%d,"account":%d}`, n, account)
	if n%17 == 0 {
		return line, "reviewed", fmt.Sprintf(`{"account":%d,"id":%d,"score":null}`, account, n)
	}
	output = "passed"
	switch {
	case score >= 80:
		output = "blocked"
	case score >= 50:
		output = "reviewed"
	}
	return line, output, fmt.Sprintf(`{"account":%d,"id":%d,"score":%d}`, account, n, score)
}

// scorerOf is the scoring service: it takes a few milliseconds, one time in twenty it has no time, and of some
// requests it knows nothing.
func scorerOf(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ ID int }
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &asked) != nil {
			return
		}
		<-time.After(time.Duration(rand.IntN(6)) * time.Millisecond)
		switch {
		case rand.IntN(20) == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case asked.ID%17 == 0:
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprintf(w, `{"score": %d}`, asked.ID*31%101)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/score"
}

// TestCalls is what is promised of a node that calls out: what comes out is what a plain program answers, in the
// order of the requests, however many calls are out at once, from a run as from a daemon, and wherever that is
// killed.
func TestCalls(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(shown, "scoring.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	url := scorerOf(t)
	lines, want := make([]string, called), map[string][]string{}
	for n := range called {
		line, output, answer := request(n)
		lines[n], want[output] = line, append(want[output], answer)
	}
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "requests.ndjson")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		declared := strings.Replace(string(text), "${GRAPHD_VAR_SCORER:-http://127.0.0.1:9000/score}", url, 1)
		d, err := graphd.ParseDeclaration([]byte(declared), "scoring.yaml")
		if err != nil {
			t.Fatal(err)
		}
		out := &bytes.Buffer{}
		stats, err := d.Run(t.Context(), graphd.RunConfig{Inputs: map[string]string{"requests": path}, Stdout: out,
			Calls: []string{"loopback"}})
		if err != nil || stats.DeadLetters > 0 {
			t.Fatal(err, stats)
		}
		answered(t, out.Bytes(), want)
	})
	for _, concurrency := range []int{1, 2, 64} {
		for _, kills := range []int{0, 4} {
			if concurrency == 2 && kills > 0 {
				continue
			}
			t.Run(fmt.Sprintf("live, %d at once, %d kills", concurrency, kills), func(t *testing.T) {
				t.Parallel()
				declared := strings.Replace(string(text), "concurrency: 16", fmt.Sprintf("concurrency: %d",
					concurrency), 1)
				declared = strings.ReplaceAll(declared, "sink: { stdout: {} }",
					`delivery: outbox, sink: { file: { path: "${GRAPHD_VAR_ANSWERS}" } }`)
				callsLive(t, declared, url, lines, want, kills)
			})
		}
	}
}

func callsLive(t *testing.T, declared, url string, lines []string, want map[string][]string,
	kills int) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	answers := filepath.Join(t.TempDir(), "answers.ndjson")
	d := start(t, "GRAPHD_VAR_SCORER="+url, "GRAPHD_VAR_ANSWERS="+answers)
	if err := d.call(ctx, "PUT", "/v1/graphs/scoring", "application/yaml", []byte(declared), nil); err != nil {
		t.Fatal(err)
	}
	const each = 100
	for n := 0; n < len(lines); n += each {
		text := strings.Join(lines[n:n+each], "\n") + "\n"
		if err := push(ctx, d, scoring, "requests", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if kills > 0 && n/each%3 == 1 {
			d.restart()
		}
	}
	for {
		var g struct {
			Counters struct{ Consumed int }
			Outputs  []struct{ Pending int }
		}
		pending := 0
		err := d.call(ctx, "GET", "/v1/graphs/scoring", "", nil, &g)
		for _, o := range g.Outputs {
			pending += o.Pending
		}
		if err == nil && g.Counters.Consumed == len(lines) && pending == 0 {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("it did not come to an end: %v, %+v", err, g)
		case <-time.After(20 * time.Millisecond):
		}
	}
	d.stop()
	text, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	answered(t, text, want)
}

// answered holds that the answers are those of a plain program, each firing once, to each output in the order of the
// requests.
func answered(t *testing.T, text []byte, want map[string][]string) {
	t.Helper()
	got, seen := map[string][]string{}, map[string]bool{}
	for line := range bytes.Lines(text) {
		var l struct {
			Output string
			Firing string `json:"firing_id"`
			Value  json.RawMessage
		}
		if json.Unmarshal(line, &l) != nil || l.Firing != "" && seen[l.Firing] {
			continue // torn by a kill and written again, or written again
		}
		seen[l.Firing] = true
		got[l.Output] = append(got[l.Output], string(l.Value))
	}
	for output, want := range want {
		got, at := got[output], 0
		if slices.Equal(got, want) {
			continue
		}
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("%s: %d answers, want %d; the first that differ: %v, want %v", output, len(got), len(want),
			got[at:min(at+3, len(got))], want[at:min(at+3, len(want))])
	}
}
