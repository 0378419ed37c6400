package examples

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/node/wasm/wasmtest"
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

// TestAGuestThatSpinsHarmsNobody: a graph whose guest never ends goes on after the timeout as on_error says, another
// one of the same daemon answers meanwhile, and the daemon stops when it is told to (M21, M25, M38).
func TestAGuestThatSpinsHarmsNobody(t *testing.T) {
	atRoot(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	module := filepath.Join(t.TempDir(), "m.wasm")
	program := wasmtest.Program{Funcs: []wasmtest.Func{wasmtest.Spin("spin"),
		{Name: "same", Signature: "d>d", Code: wasmtest.Code(0x20, 0)}}}
	if err := os.WriteFile(module, program.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	const doc = `graph: %s
accumulators: { a: { source: { generator: { every: 5ms, expr: i, count: %d } }, strategy: sequential } }
nodes:
  n: { wasm: { module: %s, function: %s, timeout: 200ms }, inputs: [a], on_error: skip }
  told: { expr: 'n ?? (0 * a - 1)' } # read with the input, for a node that fails again has not changed
outputs: { o: { from: told, sink: { go: { name: %s } } } }
`
	counts := map[string]chan any{"spins": make(chan any), "answers": make(chan any)}
	registry := graphd.Registry{Sinks: map[string]graphd.SinkFunc{}}
	for name, to := range counts {
		registry.Sinks[name] = func(_ context.Context, batch []graphd.Message) error {
			for _, m := range batch {
				select {
				case to <- m.Value:
				case <-ctx.Done(): // the test has seen enough
				}
			}
			return nil
		}
	}
	d, err := graphd.New(ctx, graphd.Config{Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard,
		Registry: registry,
		Declarations: map[string][]byte{
			"spins.yaml":   fmt.Appendf(nil, doc, "spins", 10, module, "spin", "spins"),
			"answers.yaml": fmt.Appendf(nil, doc, "answers", 100_000, module, "same", "answers"),
		}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	// From the first timeout on the guest spins for the next event, and the one after it.
	for spun, answers := 0, 0; spun < 1 || answers < 100; {
		select {
		case v := <-counts["spins"]:
			if spun++; v != -1 {
				t.Errorf("the guest that spins has answered %v", v)
			}
		case v := <-counts["answers"]:
			if v != float64(answers) {
				t.Fatalf("answer %d is %v", answers, v)
			}
			answers++
		case <-ctx.Done():
			t.Fatalf("after a minute there are %d timeouts and %d answers", spun, answers)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestGuestInGo builds the guest in Go, and masks with it.
func TestGuestInGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a part of the standard library for another system")
	}
	atRoot(t)
	module := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", module,
		"./examples/wasm/go")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	masks(t, guest(t, module, 5<<20))
}

// TestGuestInRust says of the guest in Rust what the example's tests say of the one in AssemblyScript, and of one that
// is built anew where there is a compiler for it.
func TestGuestInRust(t *testing.T) {
	atRoot(t)
	const source = "examples/wasm/rust/guest.rs"
	modules := map[string]string{"as it is here": "examples/wasm/rust/guest.wasm"}
	if rustc := rustForWasm(t); rustc != "" {
		module := filepath.Join(t.TempDir(), "guest.wasm")
		build := exec.CommandContext(t.Context(), rustc, append(rustArgs(t, source), "-o", module, source)...)
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		modules["built anew"] = module
	} else {
		t.Log("no Rust for wasm32-unknown-unknown: the guest is not built anew")
	}
	for name, module := range modules {
		t.Run(name, func(t *testing.T) {
			code := guest(t, module, 64<<10)
			masks(t, code)
			files := map[string]string{"guest.wasm": code}
			for _, file := range []string{"payments.yaml", "payments_test.yaml"} {
				text, err := os.ReadFile(filepath.Join("examples/wasm", file))
				if err != nil {
					t.Fatal(err)
				}
				files[file] = string(text)
			}
			says(t, files, "payments_test.yaml", 3)
		})
	}
}

// rustForWasm is a compiler of Rust that has what it needs for such modules; "" where there is none.
func rustForWasm(t *testing.T) string {
	t.Helper()
	for _, rustc := range []string{"rustc", "/usr/bin/rustc"} { // of whoever runs this, and of the system
		out, err := exec.CommandContext(t.Context(), rustc, "--print", "target-libdir", "--target",
			"wasm32-unknown-unknown").Output()
		if err != nil {
			continue
		}
		if _, err := os.Stat(strings.TrimSpace(string(out))); err == nil {
			return rustc
		}
	}
	return ""
}

// rustArgs are those of the command that the source says the guest is made by, but for the files.
func rustArgs(t *testing.T, source string) []string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	_, command, ok := strings.Cut(strings.NewReplacer("//!", "", "\\\n", " ").Replace(string(text)), " rustc ")
	command, _, _ = strings.Cut(command, " guest.rs ")
	args := strings.Fields(command)
	if !ok || len(args) < 8 {
		t.Fatalf("%s does not say how its guest is made: %q", source, args)
	}
	return args
}

// guest reads a module that has up to so many bytes.
func guest(t *testing.T, module string, most int) string {
	t.Helper()
	code, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("it has %d KiB", len(code)>>10); len(code) > most {
		t.Errorf("the guest has %d bytes", len(code))
	}
	return string(code)
}

// masks holds what a guest makes of notes, also after one that it cannot read.
func masks(t *testing.T, guest string) {
	t.Helper()
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
      - push: { note: { text: "" } }
      - expect: { texts: [""] }
      - push: { note: { text: "\"4111111111111\", \\n and \u0001\u00021234567890123" } }
      - expect: { texts: ["\"*********1111\", \\n and \u0001\u0002*********0123"] }
      - push: { note: { text: 7 } }
      - expect: { texts: [], dead_letters: 1 }
      - push: { note: { text: "again" } }
      - expect: { texts: ["again"] }
`
	says(t, map[string]string{"guest.wasm": guest, "noted.yaml": doc, "noted_test.yaml": tests}, "noted_test.yaml", 1)
}

// says holds what the tests among some files say, of so many cases.
func says(t *testing.T, files map[string]string, tests string, cases int) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outcomes, err := graphd.TestDeclaration(t.Context(), filepath.Join(folder, tests))
	if err != nil || len(outcomes) != cases {
		t.Fatalf("%v, %v", outcomes, err)
	}
	for i := range outcomes {
		for _, f := range outcomes[i].Failures {
			t.Errorf("%s: %s", outcomes[i].Case, f)
		}
	}
}
