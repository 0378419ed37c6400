package faults

import (
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A store of the first release is brought forward however often that is cut short by
// kill -9: what was begun is done whole, or not at all and again.
func TestKilledMigration(t *testing.T) {
	packed, err := os.Open(filepath.Join("..", "..", "test", "testdata", "store-1", "graphd.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	for round := range 8 {
		dir := t.TempDir()
		data := filepath.Join(dir, "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "graphd.db"), old, 0o600); err != nil {
			t.Fatal(err)
		}
		for try := range 6 {
			cmd := exec.Command(built, "migrate", "--data", data)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(3+4*try+round)*time.Millisecond, func() { _ = cmd.Process.Kill() })
			if cmd.Wait() != nil {
				cut++
			}
			timer.Stop()
		}
		p := start(t, dir)
		p.until("the graph is there", stuck, func() bool { return p.summary("kept").Health == "live" })
		if s := p.summary("kept"); s.balanced() != nil || s.Epoch != 6 || s.Counters.Received != 14 ||
			s.Counters.Queued != 4 {
			t.Fatalf("round %d: %+v", round, s)
		}
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if cut == 0 {
		t.Skip("void: this machine migrates faster than it can be killed")
	}
	t.Logf("%d of 48 migrations were cut short", cut)
}
