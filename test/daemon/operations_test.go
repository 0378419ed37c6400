package daemon

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// unpack puts the fixture of schema 1 into a new data folder.
func unpack(t *testing.T) (data string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("..", "testdata", "store-1", "graphd.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	data = t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "graphd.db"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

type graphState struct {
	Cache map[string]any
	Nodes map[string]any
	Epoch int64
}

func (d *daemon) state(graph string) (s graphState) {
	d.t.Helper()
	d.do("GET", "/v1/graphs/"+graph+"/state", "", 200, &s)
	return s
}

// A store that the first release wrote is opened, brought up to date, and its graphs go on
// where they were: state, open batch, queue, pause, history, dead letters and books.
func TestStoreOfSchema1(t *testing.T) {
	t.Parallel()
	data := unpack(t)
	d := startDaemon(t, graphd.Config{Data: data})
	d.until("the graph is there", func() bool { return d.summary("kept").Health == "live" })
	s := d.summary("kept")
	if err := s.balanced(); err != nil || !s.Paused || s.Epoch != 6 || s.Incarnation != 2 ||
		s.Counters.Received != 14 || s.Counters.Queued != 4 || s.Counters.DeadLettered != 1 {
		t.Fatalf("%v %+v", err, s)
	}
	if st := d.state("kept"); fmt.Sprint(st.Nodes["total"]) != "9" || fmt.Sprint(st.Cache["orders"]) != "[1 2 3 4 5]" {
		t.Fatalf("%+v", st)
	}
	var letters struct {
		Items []struct{ Code, Accumulator string }
	}
	d.do("GET", "/v1/graphs/kept/dead-letters", "", 200, &letters)
	if len(letters.Items) != 1 || letters.Items[0].Code != "not_finite" {
		t.Fatalf("%+v", letters)
	}
	var firings struct{ Items []struct{ Epoch int64 } }
	d.do("GET", "/v1/graphs/kept/firings", "", 200, &firings)
	if len(firings.Items) != 6 {
		t.Fatalf("%+v", firings)
	}
	d.do("POST", "/v1/graphs/kept/resume", "", 200, nil)
	d.do("POST", "/v1/graphs/kept/accumulators/orders/events", "[8,9,10]", 200, nil)
	d.until("the queue and the batch are fired", func() bool { return d.summary("kept").Epoch == 9 })
	if st := d.state("kept"); fmt.Sprint(st.Nodes["total"]) != "15" ||
		fmt.Sprint(st.Cache["orders"]) != "[6 7 8 9 10]" {
		t.Fatalf("%+v", st)
	}
	if s := d.summary("kept"); s.balanced() != nil || s.Counters.Queued != 0 {
		t.Fatalf("%+v", s)
	}
	d.stop()
	again := startDaemon(t, graphd.Config{Data: data})
	again.until("it is there again", func() bool { return again.summary("kept").Epoch == 9 })
}

// A backup of a running daemon is a store as of one moment: a daemon that is given it has
// the graphs with their state, and what came later is not in it.
func TestBackupOfARunningDaemon(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, graphd.Config{Data: t.TempDir()})
	d.do("PUT", "/v1/graphs/sums", "graph: sums\naccumulators: { a: { state: { keep: 10 } } }\nnodes: { n: { expr: "+
		"sum(a) } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", 201, nil)
	d.do("POST", "/v1/graphs/sums/accumulators/a/events", "[1,2,3]", 200, nil)
	d.do("POST", "/v1/graphs/sums/drain", "", 200, nil)
	restored := filepath.Join(t.TempDir(), "graphd.db")
	res, err := http.Post(d.base+"/v1/backup", "", nil)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(err, res)
	}
	copied, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if err := os.WriteFile(restored, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	d.do("POST", "/v1/graphs/sums/accumulators/a/events", "[4]", 200, nil)
	d.do("POST", "/v1/graphs/sums/checkpoint", "", 200, nil)

	other := startDaemon(t, graphd.Config{Data: filepath.Dir(restored)})
	other.until("the graph is there", func() bool { return other.summary("sums").Health == "live" })
	if st := other.state("sums"); fmt.Sprint(st.Nodes["n"]) != "6" {
		t.Fatalf("restored: %+v", st)
	}
	other.do("POST", "/v1/graphs/sums/accumulators/a/events", "[10]", 200, nil)
	other.do("POST", "/v1/graphs/sums/drain", "", 200, nil)
	if st := other.state("sums"); fmt.Sprint(st.Nodes["n"]) != "16" {
		t.Fatalf("restored, and gone on: %+v", st)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(restored), ".graphd-backup-*")); err != nil ||
		len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	memory := startDaemon(t, graphd.Config{Store: "memory:"})
	memory.do("POST", "/v1/backup", "", 409, nil)
}

// A reset takes all state and nothing else; a rewind reads the source again from where it is
// told. Neither happens by a slip, both survive a restart, and the books go on balancing.
func TestResetAndRewind(t *testing.T) {
	t.Parallel()
	data, files := t.TempDir(), t.TempDir()
	input := filepath.Join(files, "in.ndjson")
	if err := os.WriteFile(input, []byte("1\n2\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, graphd.Config{Data: data, FilesDir: files})
	d.do("PUT", "/v1/graphs/sums", fmt.Sprintf("graph: sums\naccumulators: { a: { state: { keep: 100 }, source: { "+
		"file: { path: %s, follow: true } } } }\nreactor: { strategy: sequential }\nnodes: { n: { expr: sum(a) } "+
		"}\noutputs: { o: { from: n, sink: { drop: {} } } }\n", input), 201, nil)
	total := func(want string) func() bool {
		return func() bool { return fmt.Sprint(d.state("sums").Nodes["n"]) == want }
	}
	d.until("the file is read", total("6"))
	for _, body := range []string{`{}`, `{"confirm":"other"}`} {
		d.do("POST", "/v1/graphs/sums/reset", body, 422, nil)
	}
	rewind := func(position string, status int) {
		d.do("POST", "/v1/graphs/sums/accumulators/a/rewind", fmt.Sprintf(`{"position":%q,"confirm":"sums"}`, position),
			status, nil)
	}
	d.do("POST", "/v1/graphs/sums/accumulators/a/rewind", `{"position":"start"}`, 422, nil)
	for _, bad := range []string{"3", "7", "-1", "soon", "file#3-0000000000000000@2"} {
		rewind(bad, 422)
	}
	rewind("2", 200) // behind the first line
	d.until("two lines are read again", total("11"))
	rewind("end", 200)
	rewind(d.summary("sums").Accumulators[0].Position, 200)
	rewind("start", 200)
	d.until("all lines are read again", total("17"))
	d.until("the summary shows it", func() bool { return d.summary("sums").Counters.Consumed == 8 })
	if s := d.summary("sums"); s.balanced() != nil || s.Counters.Received != 8 || s.Health != "live" {
		t.Fatalf("%+v", s)
	}
	before := d.summary("sums")
	d.do("POST", "/v1/graphs/sums/pause", "", 200, nil)
	var answer struct{ Health string }
	began := time.Now()
	d.do("POST", "/v1/graphs/sums/reset", `{"confirm":"sums"}`, 200, &answer)
	if took := time.Since(began); answer.Health != "live" && took < time.Second { // it waits so long for that
		t.Errorf("the answer to the reset says %q after %v", answer.Health, took)
	}
	d.until("it is live", func() bool { return d.summary("sums").Health == "live" })
	d.until("the source is read from the beginning", func() bool { return d.summary("sums").Counters.Received == 3 })
	s := d.summary("sums")
	if err := s.balanced(); err != nil || !s.Paused || s.Counters.Queued != 3 || s.Epoch != before.Epoch {
		t.Fatalf("%v %+v", err, s)
	}
	if st := d.state("sums"); st.Nodes["n"] != nil {
		t.Fatalf("%+v", st)
	}
	d.stop()
	d = startDaemon(t, graphd.Config{Data: data, FilesDir: files})
	d.until("it is there again", func() bool { return d.summary("sums").Health == "live" })
	d.do("POST", "/v1/graphs/sums/resume", "", 200, nil)
	d.until("it has begun anew", total("6"))
	var events struct {
		Items []struct{ Kind, Reason string }
	}
	d.do("GET", "/v1/graphs/sums/recovery-events", "", 200, &events)
	var kinds []string
	for _, ev := range events.Items {
		kinds = append(kinds, ev.Kind)
	}
	if all := strings.Join(kinds, " "); !strings.Contains(all, "state_reset") || !strings.Contains(all, "rewound") {
		t.Errorf("recovery events %v", kinds)
	}
}
