package differential

import (
	"bufio"
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
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/failpoint"
)

// M26, M28: what a bounded run answers the real binary answers, which is killed as it catches up.
func TestM26WideKilledProcessEqualsRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	d := daemons(filepath.Join(t.TempDir(), "graphd"))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", string(d), "github.com/graphd/graphd/cmd/graphd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	everyWay(t, howMany(24), []way{{"process", (*wide).lives, against(d.killed)}})
}

// daemons are made of a binary.
type daemons string

// point is where a life of the binary ends by itself. The first one dies of its first epochs: after that the graph
// goes on carefully, a few epochs for a commit (M43), and does not get far in one life.
func point(r *rand.Rand, doc tree, first bool) string {
	points := []string{"cut", "cut", "commit_sent", "commit_sent", "commit_acknowledged", "commit_acknowledged",
		"decode", "admit", "outbox_send", "outbox_sent"}
	if d, _ := doc["durability"].(tree); d["mode"] == "journal" {
		points = append(points, "journal_sent", "journal_acknowledged", "replay", "replay", "replay")
	}
	name, most := points[r.IntN(len(points))], 4
	switch {
	case first:
		name, most = "cut", 1
	case name == "decode" || name == "replay":
		most = 40
	}
	return fmt.Sprintf("%s=%s:%d", failpoint.Env, name, 1+r.IntN(most))
}

// killed is what the binary says that finds all events in its files, and is killed on the way through them.
func (b daemons) killed(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
	dir, out := t.TempDir(), &safeBuffer{}
	text, err := written(doc, func(doc tree) {
		w.overFiles(dir, true)(doc)
		doc["durability"] = w.often(doc, seed)
	})
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "graphs"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "graphs", "random.yaml"), []byte(text), 0o600)
	}
	for _, in := range w.inputs {
		err = errors.Join(err, in.append(dir, in.texts()...))
	}
	s, r := newSpoken(), rand.New(rand.NewPCG(seed, 7))
	// The last life but one comes to the end, and the last one finds it as it is and says nothing that is new.
	for left, first := 4+r.IntN(6), true; left >= 0 && err == nil; left, first = left-1, false {
		env := ""
		if left > 1 {
			env = point(r, doc, first)
		}
		var died bool
		if died, err = b.life(t.Context(), dir, out, env, func(d *daemon) (bool, error) {
			return d.through(t.Context(), s, want, w.events())
		}); err == nil && died && left <= 1 {
			err = errors.New("the daemon ended by itself")
		}
	}
	if err == nil {
		err = s.values(out.b.Bytes())
	}
	return s, errors.Join(err, s.files(dir, true))
}

// life is one life of the binary, which is lived until it dies or is killed.
func (b daemons) life(ctx context.Context, dir string, out *safeBuffer, env string,
	live func(d *daemon) (died bool, err error)) (died bool, err error) {
	d, err := b.serve(ctx, dir, out, env)
	if err != nil || d.base == "" {
		return true, err
	}
	defer d.kill()
	return live(d)
}

// daemon is one run of the real binary.
type daemon struct {
	cmd   *exec.Cmd
	base  string
	ended chan struct{} // closed when all that it has said was read
}

// serve starts the binary on what is in dir. The whole lines that it says go to out. It has no base if it has died
// before it was ready.
func (b daemons) serve(ctx context.Context, dir string, out *safeBuffer, env string) (*daemon, error) {
	return b.serveWith(ctx, out, env, "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--graphs",
		filepath.Join(dir, "graphs"))
}

// serveWith is that with these flags.
func (b daemons) serveWith(ctx context.Context, out *safeBuffer, env string, flags ...string) (*daemon, error) {
	d := &daemon{ended: make(chan struct{})}
	d.cmd = exec.CommandContext(ctx, string(b), append([]string{"serve"}, flags...)...)
	d.cmd.Env = append(os.Environ(), env)
	said, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(said)
	whole := func() (line []byte, more bool) {
		line, err := lines.ReadBytes('\n')
		return line, err == nil // the rest of a line was cut off
	}
	line, more := whole()
	for ; more && d.base == ""; line, more = whole() { // a graph may be faster
		var ready struct {
			Ready  bool
			Listen string
		}
		if json.Unmarshal(line, &ready) == nil && ready.Ready {
			d.base = "http://" + ready.Listen
			break
		}
		_, _ = out.Write(line)
	}
	go func() {
		defer close(d.ended)
		for line, more := whole(); more; line, more = whole() {
			_, _ = out.Write(line)
		}
	}()
	if d.base == "" {
		d.kill()
	}
	return d, nil
}

// kill ends it as a power cut would.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.ended
	_ = d.cmd.Wait()
}

func (d *daemon) call(ctx context.Context, method, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, d.base+"/v1/graphs/random"+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil || into == nil && res.StatusCode/100 == 2:
		return err
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s: %s", res.Status, body)
	}
	return json.Unmarshal(body, into)
}

// through waits until the graph has all its events and the books are as they should be, or the daemon has died.
func (d *daemon) through(ctx context.Context, s, want *spoken, events int64) (died bool, err error) {
	var sum api.GraphSummary
	still := standstill{}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		select {
		case <-d.ended:
			return true, nil
		default:
		}
		if sum = (api.GraphSummary{}); d.call(ctx, http.MethodGet, "", &sum) != nil {
			continue // its declaration was not read yet
		}
		if still.lasts(&sum) && sum.Counters.Received < events {
			break
		}
		if sum.HealthReason != nil && sum.HealthReason.Code == "crash_loop" { // three lives without a commit (M43)
			_ = d.call(ctx, http.MethodPost, "/restart", nil)
		}
		for i := range sum.Accumulators {
			s.books[sum.Accumulators[i].Name] = booksOf(&sum.Accumulators[i].Counters)
		}
		s.gone = goneOf(&sum)
		pending := slices.ContainsFunc(sum.Outputs, func(o api.OutputSummary) bool { return o.Pending > 0 })
		if sum.Health == "live" && !pending && sum.Counters.Received >= events &&
			sum.Durability.CheckpointEpoch == sum.Epoch && s.sameBooks(want) {
			return false, nil
		}
	}
	return false, fmt.Errorf("not through in time: %s, %s", s.differsInBooks(want), text(sum))
}
