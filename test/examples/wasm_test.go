package examples

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// TestGuestsOnAnyNumberOfCores: what nodes of WebAssembly answer is the same on 1, 2 and 8 cores, with shards and
// without (M23, M51).
func TestGuestsOnAnyNumberOfCores(t *testing.T) {
	atRoot(t)
	plain, err := os.ReadFile("examples/wasm/payments.yaml")
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("examples/wasm/guest.wasm")
	if err != nil {
		t.Fatal(err)
	}
	keyed := func(shards int) []byte {
		doc := strings.ReplaceAll(string(plain), "guest.wasm, ", module+", ")
		doc = strings.ReplaceAll(doc, "module: guest.wasm\n", "module: "+module+"\n")
		return []byte(strings.Replace(doc, "nodes:\n",
			fmt.Sprintf("reactor: { key: known, shards: %d }\nnodes:\n", shards), 1))
	}
	input := filepath.Join(t.TempDir(), "payments.ndjson")
	var events strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&events, `{"amount":%d,"usual":%d,"spread":%d,"known":%d,"note":"card 41111111%08d"}`+"\n",
			i*37%1000, i*11%500, i%90, i%23, i)
	}
	if err := os.WriteFile(input, []byte(events.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	want := ""
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, shards := range []int{1, 2, 7} {
		for _, cores := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(cores)
			d, err := graphd.ParseDeclaration(keyed(shards), "")
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			stats, err := d.Run(t.Context(), graphd.RunConfig{
				Inputs: map[string]string{"payments": input}, Stdout: &out,
			})
			if err != nil || stats.DeadLetters > 0 {
				t.Fatalf("%d shards on %d cores: %v, %d dead letters", shards, cores, err, stats.DeadLetters)
			}
			if want == "" {
				want = out.String()
			}
			if n := strings.Count(want, "\n"); out.String() != want || n != 2000 {
				t.Errorf("%d shards on %d cores: %d lines, and it differs at byte %d", shards, cores, n,
					firstDifference(out.String(), want))
			}
		}
	}
}

// TestGuestInGo builds the guest in Go, and runs with it what the example's tests say.
func TestGuestInGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a part of the standard library for another system")
	}
	atRoot(t)
	folder := t.TempDir()
	module := filepath.Join(folder, "guest.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", module,
		"./examples/wasm/go")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	info, err := os.Stat(module)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("it has %d KiB", info.Size()>>10); info.Size() > 5<<20 {
		t.Errorf("the guest has %d bytes", info.Size())
	}
	const doc = `graph: noted
accumulators: { note: { strategy: sequential } }
nodes:
  masked: { wasm: { module: guest.wasm, function: mask, timeout: 10s }, inputs: [note], on_error: dead_letter }
  text: { expr: masked.note.text }
outputs: { texts: { from: text, sink: { stdout: {} } } }
`
	const tests = `graph: noted
cases:
  - name: masks
    steps:
      - push: { note: { text: "card 4111111111111111, order 1234" } }
      - expect: { texts: ["card ************1111, order 1234"] }
      - push: { note: { text: "none" } }
      - expect: { texts: ["none"] }
      - push: { note: { text: 7 } }
      - expect: { texts: [], dead_letters: 1 }
      - push: { note: { text: "again" } }
      - expect: { texts: ["again"] }
`
	for name, text := range map[string]string{"noted.yaml": doc, "noted_test.yaml": tests} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outcomes, err := graphd.TestDeclaration(t.Context(), filepath.Join(folder, "noted_test.yaml"))
	if err != nil || len(outcomes) != 1 {
		t.Fatalf("%v, %v", outcomes, err)
	}
	for _, f := range outcomes[0].Failures {
		t.Error(f)
	}
}
