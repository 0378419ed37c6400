package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// beforeCommit is the last state that was published before passes, claims and keys of pushes were in the store.
const beforeCommit = "8fb7e2a248e0c8d057ca60a995ae1578b2a39a9d"

// beforeEnv names a daemon of that state that is there already.
const beforeEnv = "GRAPHD_TEST_BEFORE"

// upgradePushed is pushed to and journaled. Its file is written by every path, and with a table of the store's database
// there is a row of each event.
const upgradePushed = `graph: effects
accumulators:
  events: { emit: event.n, strategy: sequential }
nodes:
  n: { expr: '{ "n": events, "at": now() }' }
outputs:
  lines: { from: n, sink: { file: { path: ../lines.ndjson } } }
%sdurability: { mode: journal, interval: 300ms }
`

// upgradeLetters makes a record, and a dead letter of the second line of its file.
const upgradeLetters = `graph: letters
accumulators: { a: { source: { file: { path: ../letters.ndjson, follow: true } }, strategy: sequential } }
nodes: { half: { expr: 100 / a.n } }
outputs: { o: { from: half, sink: { drop: {} } } }
durability: { interval: 100ms }
`

// upgrade is one store that daemons of two releases run one after the other, under load.
type upgrade struct {
	t      *testing.T
	dir    string
	args   []string
	before string // the daemon of the older release
	token  string
	load   *pushers
	p      *process
	// What the first daemon has told, which every later one tells, too.
	letter, record, revisions, tokens, chains string
}

// live starts a release's daemon behind the one that was ended, and waits until it takes pushes and its books balance.
func (u *upgrade) live(program string) {
	u.t.Helper()
	var err error
	if u.p, err = launchOf(u.t, program, nil, u.dir, u.args...); err != nil {
		u.t.Fatal(err)
	}
	u.p.token = u.token
	u.load.base.Store(&u.p.base)
	for _, graph := range []string{"effects", "history"} {
		if s := u.p.firesAgain(graph); s.balanced() != nil {
			u.t.Errorf("%s: %v", graph, s.balanced())
		}
		u.p.advances(graph) // three ends without a commit are a crash loop (M43)
	}
	checkHistory(u.t, u.p, 0)
}

// end ends the daemon under load.
func (u *upgrade) end(how syscall.Signal) {
	u.t.Helper()
	if how == syscall.SIGKILL {
		u.p.kill()
	} else if err := u.p.stop(); err != nil {
		u.t.Errorf("the daemon did not stop: %v\n%s", err, u.p.log)
	}
}

// read is what the daemon answers, without what only tells how things stand now.
func (u *upgrade) read(path string, without ...string) string {
	u.t.Helper()
	var answer any
	if err := u.p.do("GET", path, "", &answer); err != nil {
		u.t.Fatalf("%v\n%s", err, u.p.log)
	}
	text, err := json.Marshal(leftOut(answer, without))
	if err != nil {
		u.t.Fatal(err)
	}
	return string(text)
}

func leftOut(value any, names []string) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if slices.Contains(names, key) {
				delete(v, key)
			} else {
				v[key] = leftOut(v[key], names)
			}
		}
	case []any:
		for i := range v {
			v[i] = leftOut(v[i], names)
		}
	}
	return value
}

// tells reads what the store keeps of the past: the same of every release.
func (u *upgrade) tells(who string) {
	u.t.Helper()
	u.p.until("the letter is there", stuck, func() bool {
		var page struct{ Items []struct{ Epoch int64 } }
		return u.p.do("GET", "/v1/graphs/letters/dead-letters", "", &page) == nil && len(page.Items) == 1
	})
	for _, one := range []struct {
		what string
		at   *string
		is   string
	}{
		{"dead letters", &u.letter, u.read("/v1/graphs/letters/dead-letters", "shard")},
		{"the record of an epoch", &u.record, u.read("/v1/graphs/letters/firings/1", "shard", "trace_id")},
		{"revisions", &u.revisions, u.read("/v1/graphs/letters/revisions", "hash")},
		{"tokens", &u.tokens, u.read("/v1/tokens", "last_used_at")},
		{"the ends of the audit", &u.chains, u.read("/v1/audit/chains")},
	} {
		if *one.at == "" {
			*one.at = one.is
		}
		if *one.at != one.is {
			u.t.Errorf("%s: %s are %s, and were %s", who, one.what, one.is, *one.at)
		}
	}
	cmd := exec.Command(built, "audit", "verify") // every chain, sum by sum
	cmd.Env = append(os.Environ(), "GRAPHD_SERVER="+u.p.base, "GRAPHD_TOKEN="+u.token, "NO_COLOR=1")
	if said, err := cmd.CombinedOutput(); err != nil {
		u.t.Errorf("%s: the audit: %v\n%s", who, err, said)
	}
}

// count ends the load, and counts what has come of it.
func (u *upgrade) count(follow *load, cancel context.CancelFunc) {
	u.t.Helper()
	cancel()
	u.load.wg.Wait()
	<-follow.done
	acked := u.load.acked
	u.p.until("all is out", slack*60*time.Second, func() bool {
		s, h := u.p.summary("effects"), u.p.summary("history")
		return s.Counters.Consumed >= int64(len(acked)) && s.Counters.Queued == 0 && s.Outputs[0].Pending == 0 &&
			h.Accumulators[0].Counters.Consumed == follow.written.Load()
	})
	checkHistory(u.t, u.p, 0)
	if err := u.p.do("DELETE", "/v1/graphs/letters/dead-letters/"+u.id(), "", nil); err != nil {
		u.t.Error(err)
	}
	u.end(syscall.SIGTERM)
	out := newEffects()
	out.read(u.t, filepath.Join(u.dir, "lines.ndjson"))
	if problems := out.verdict(slices.Values(acked)); len(problems) > 0 || len(u.load.bad) > 0 || len(acked) < 1000 {
		u.t.Error(len(acked), problems, u.load.bad)
	}
	u.t.Logf("%d events acknowledged of %d pushed, and %d read from a file; %d sent again under their id", len(acked),
		u.load.next.Load(), follow.written.Load(), out.again)
}

// id is that of the one dead letter.
func (u *upgrade) id() string {
	var page struct {
		Items []struct{ ID json.RawMessage }
	}
	if err := json.Unmarshal([]byte(u.letter), &page); err != nil || len(page.Items) != 1 {
		u.t.Fatalf("%s: %v", u.letter, err)
	}
	return strings.Trim(string(page.Items[0].ID), `"`)
}

// begin has the older release make a store with data in it.
func (u *upgrade) begin(ctx context.Context, also string) *load {
	u.t.Helper()
	for name, text := range map[string]string{
		"graphs/effects.yaml": fmt.Sprintf(upgradePushed, also), "graphs/history.yaml": historyGraph,
		"graphs/letters.yaml": upgradeLetters, "letters.ndjson": "{\"n\":4}\n{\"n\":0}\n",
	} {
		path := filepath.Join(u.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			u.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			u.t.Fatal(err)
		}
	}
	p, err := launchOf(u.t, u.before, nil, u.dir, u.args...)
	if err != nil {
		u.t.Fatal(err)
	}
	for _, body := range []string{`{"name":"root","role":"platform-admin"}`, `{"name":"second","role":"viewer"}`} {
		var made struct{ Token string }
		if err := p.do("POST", "/v1/tokens", body, &made); err != nil || !tokenText.MatchString(made.Token) {
			u.t.Fatalf("%+v, %v", made, err)
		}
		if p.token == "" {
			p.token = made.Token
		}
	}
	u.token = p.token
	u.load = &pushers{event: func(n int64) string { return fmt.Sprintf(`{"n":%d}`, n) }, token: p.token}
	u.load.start(ctx, "/v1/graphs/effects/accumulators/events/events", 4)
	follow := startLoadAt(ctx, u.t, filepath.Join(u.dir, "events.ndjson"), 10)
	if err := p.stop(); err != nil {
		u.t.Fatal(err)
	}
	return follow
}

// M28, M29, M55: a daemon of the release before is stopped, and killed, under load, and the present one goes on with
// its store, and back, and forth again. Nothing is lost, nothing is there twice, and what the store keeps of the past
// is told by both as it was.
func TestUpgradeUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds an older release")
	}
	before := os.Getenv(beforeEnv)
	if before == "" {
		before = builtOf(t, beforeCommit)
	}
	t.Run("sqlite", func(t *testing.T) { upgradeUnderLoad(t, &upgrade{t: t, before: before}, "", nil) })
	t.Run("postgres", func(t *testing.T) {
		if os.Getenv(rollingEnv) == "" {
			t.Skip("it is asked for with " + rollingEnv + ", as make test-rolling does")
		}
		dsn, db := database(t, "create table effects (n bigint not null)")
		u := &upgrade{t: t, before: before, args: []string{"--store", dsn, "--lease", "2s"}}
		upgradeUnderLoad(t, u, "  rows: { from: n, sink: { postgres: { table: effects, columns: [n] } } }\n", db)
	})
}

func upgradeUnderLoad(t *testing.T, u *upgrade, also string, db *pgx.Conn) {
	u.dir = t.TempDir()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	defer cancel()
	follow := u.begin(ctx, also)
	lives := []struct {
		program string
		end     syscall.Signal
	}{
		{u.before, syscall.SIGTERM}, {binary(), syscall.SIGTERM}, // the update, and
		{u.before, syscall.SIGKILL}, {binary(), syscall.SIGKILL}, // the way back
	}
	if os.Getenv(rollingEnv) != "" {
		lives = append(lives, lives...)
	}
	for i, life := range lives {
		u.live(life.program)
		u.tells(fmt.Sprintf("daemon %d, %s", i, filepath.Base(life.program)))
		u.end(life.end)
	}
	u.live(binary())
	u.count(follow, cancel)
	if db == nil {
		return
	}
	out := newEffects()
	out.read(t, filepath.Join(u.dir, "lines.ndjson"))
	var rows, numbers int
	err := db.QueryRow(t.Context(), "select count(*), count(distinct n) from effects").Scan(&rows, &numbers)
	if err != nil || rows != numbers || rows != len(out.ids) {
		t.Errorf("%d rows of %d numbers, %d in the file, %v", rows, numbers, len(out.ids), err)
	}
	t.Logf("%d rows", rows)
}
