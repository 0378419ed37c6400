package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// smallDisk is a file system of a few megabytes that a test can fill.
type smallDisk struct {
	t   *testing.T
	dir string
}

// mountSmall mounts one, where the test may.
func mountSmall(t *testing.T, size string) *smallDisk {
	t.Helper()
	dir := t.TempDir()
	if err := mountTmpfs(dir, size); err != nil {
		t.Skipf("no small file system can be mounted here (%s, it takes root): %v", runtime.GOOS, err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return &smallDisk{t, dir}
}

// fill leaves no byte free.
func (d *smallDisk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.dir, "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for _, n := range []int{64 << 10, 4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
}

func (d *smallDisk) free() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
		d.t.Fatal(err)
	}
}

func (p *process) push(graph string, from, n int) {
	p.t.Helper()
	var events []string
	for i := range n {
		events = append(events, fmt.Sprintf(`{"n":%d,"pad":%q}`, from+i, strings.Repeat("x", 200)))
	}
	if err := p.do("POST", "/v1/graphs/"+graph+"/accumulators/a/events", "["+strings.Join(events, ",")+"]",
		nil); err != nil {
		p.t.Fatalf("%v\n%s", err, p.log)
	}
}

func apply(t *testing.T, p *process, name, doc string) {
	t.Helper()
	p.changes("PUT", "/v1/graphs/"+name, doc)
}

// The store's disk is full: the graph goes on firing and is degraded, and says why; commands
// that must be durable are refused; nothing of the file is damaged, also when the process is
// killed then; once there is room the checkpoints go on without a restart.
func TestFullDiskUnderTheStore(t *testing.T) {
	disk := mountSmall(t, "16m")
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(disk.dir, "graphd.db")
	p := start(t, dir, "--store", store)
	apply(t, p, "kept", `{"graph":"kept","accumulators":{"a":{"state":{"keep":50},"strategy":"sequential"}},`+
		`"nodes":{"n":{"expr":"len(a)"},"last":{"expr":"a[len(a) - 1].n"}},"outputs":{"o":{"from":"n",`+
		`"sink":{"drop":{}}}},"durability":{"interval":"100ms"},"history":{"keep":50}}`)
	p.push("kept", 0, 100)
	p.changes("POST", "/v1/graphs/kept/checkpoint", "")
	disk.fill()
	next := 100
	p.until("the graph is degraded", stuck, func() bool {
		p.push("kept", next, 20)
		next += 20
		return p.summary("kept").Health == "degraded"
	})
	var why struct {
		Reason struct{ Code, Detail string } `json:"health_reason"`
	}
	if err := p.do("GET", "/v1/graphs/kept", "", &why); err != nil || why.Reason.Code != "checkpoint_failing" {
		t.Fatalf("%v %+v", err, why)
	}
	// The last free page of the file may take the intent, or not even that.
	if err := p.do("POST", "/v1/graphs/kept/checkpoint", "", nil); err == nil ||
		!strings.Contains(err.Error(), "not_durable") && !strings.Contains(err.Error(), "audit_unwritable") {
		t.Fatalf("a checkpoint on a full disk: %v", err)
	}
	p.push("kept", next, 10)
	next += 10
	p.until("it goes on firing", stuck, func() bool { return p.summary("kept").Epoch == int64(next) })
	disk.free()
	p.until("it recovers by itself", stuck, func() bool {
		return p.do("POST", "/v1/graphs/kept/checkpoint", "", nil) == nil && p.summary("kept").Health == "live"
	})
	saved := p.summary("kept")
	if err := saved.balanced(); err != nil || saved.Epoch != int64(next) || saved.Counters.DeadLettered > 0 {
		t.Fatalf("%v, epoch %d, want %d", err, saved.Epoch, next)
	}
	disk.fill()
	p.push("kept", next, 40)
	<-time.After(300 * time.Millisecond) // some checkpoints fail
	p.kill()
	disk.free()
	p = start(t, dir, "--store", store)
	p.until("it is there again", stuck, func() bool { return p.summary("kept").Health == "live" })
	s := p.summary("kept")
	if err := s.balanced(); err != nil || s.Epoch < saved.Epoch || s.Epoch > int64(next)+40 {
		t.Fatalf("%v %+v, it was %+v", err, s, saved)
	}
	var st struct{ Nodes map[string]json.Number }
	if err := p.do("GET", "/v1/graphs/kept/state", "", &st); err != nil ||
		st.Nodes["last"].String() != fmt.Sprint(s.Epoch-1) {
		t.Fatalf("%v: the state is not that of epoch %d: %v\n%s", err, s.Epoch, st.Nodes, p.log)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
}

// The disk of a file sink is full: with on_error: block the output waits and its graph with
// it; with dead_letter the values are kept in the store. Once there is room the lines go on,
// and each that is there is there once.
func TestFullDiskUnderASink(t *testing.T) {
	disk := mountSmall(t, "2m")
	dir := t.TempDir()
	p := start(t, dir, "--files-dir", disk.dir)
	const doc = `{"graph":%q,"accumulators":{"a":{"strategy":"sequential","capacity":100}},` +
		`"outputs":{"o":{"from":"a","sink":{"file":{"path":%q}},"on_error":%q}}}`
	out := map[string]string{
		"block": filepath.Join(disk.dir, "block"), "dead_letter": filepath.Join(disk.dir, "letters"),
	}
	for kind, path := range out {
		apply(t, p, kind, fmt.Sprintf(doc, kind, path, kind))
		p.push(kind, 0, 50)
	}
	disk.fill()
	for kind := range out {
		p.push(kind, 50, 50)
	}
	output := func(graph string) (o struct {
		Pending, Failed, Emitted int64
		Error                    string
	}) {
		var s struct{ Outputs []json.RawMessage }
		if err := p.do("GET", "/v1/graphs/"+graph, "", &s); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(s.Outputs[0], &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	p.until("the blocked output says why", stuck, func() bool {
		o := output("block")
		return o.Pending > 0 && strings.Contains(o.Error, "no space left")
	})
	p.until("the others became dead letters", stuck, func() bool {
		o := output("dead_letter")
		return o.Pending == 0 && o.Failed > 0
	})
	disk.free()
	for kind := range out {
		p.push(kind, 100, 50)
		if err := p.do("POST", "/v1/graphs/"+kind+"/drain", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := lines(t, out["block"]); len(got) != 150 {
		t.Errorf("%d of 150 lines", len(got))
	}
	failed := output("dead_letter").Failed
	if got := lines(t, out["dead_letter"]); int64(len(got))+failed != 150 {
		t.Errorf("%d lines and %d dead letters of 150 values", len(got), failed)
	}
	var letters struct {
		Items []struct{ Stage, Code string }
	}
	if err := p.do("GET", "/v1/graphs/dead_letter/dead-letters?limit=1000", "", &letters); err != nil ||
		int64(len(letters.Items)) != failed || letters.Items[0].Code != "disk_full" ||
		letters.Items[0].Stage != "sink" {
		t.Errorf("%v: %d letters, want %d", err, len(letters.Items), failed)
	}
}

// lines are the numbers of a file, which must rise.
func lines(t *testing.T, path string) []int64 {
	t.Helper()
	got := numbersOf(t, path)
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			t.Fatalf("%s: %d came after %d", filepath.Base(path), got[i], got[i-1])
		}
	}
	return got
}

// numbersOf are the numbers of the whole lines of a file; the torn ones that a full disk or a
// kill has left are passed over.
func numbersOf(t *testing.T, path string) (got []int64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var l struct{ Value struct{ N int64 } }
		if json.Unmarshal([]byte(line), &l) == nil {
			got = append(got, l.Value.N)
		}
	}
	return got
}
