package builtin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/node/wasm"
	"github.com/graphd/graphd/internal/node/wasm/wasmtest"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

const wasmGraph = `graph: g
accumulators: { a: { schema: { type: number } } }
nodes:
  n: { wasm: { module: m.wasm, function: f }, inputs: [a] }
  r: { expr: n + 1 }
outputs: { o: { from: r, sink: { drop: {} } } }
`

// putModule writes a module whose function f answers as the code does.
func putModule(t *testing.T, folder, signature string, code ...any) {
	t.Helper()
	m := wasmtest.Program{Funcs: []wasmtest.Func{{Name: "f", Signature: signature, Code: wasmtest.Code(code...)}}}
	if err := os.WriteFile(filepath.Join(folder, "m.wasm"), m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is in a module is of the declaration's meaning: another module under the same name is an update that is shown,
// and the node's value is not kept (M33). The type of what a function gives is that of its signature.
func TestM33AnotherModuleIsAnUpdate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	k := &builtin.Kinds{Modules: &wasm.Modules{}, Reach: builtin.Reach{Folder: folder}}
	putModule(t, folder, "d>d", 0x20, 0)
	one, again := parsed(t, k, wasmGraph), parsed(t, k, wasmGraph)
	if one.Spec.Hash != again.Spec.Hash || len(spec.Diff(one.Spec, again.Spec)) > 0 {
		t.Error("the same module is another")
	}
	putModule(t, folder, "d>d", 0x20, 0, 0x9A) // its negative
	next := parsed(t, k, wasmGraph)
	diff := spec.Diff(one.Spec, next.Spec)
	const changed = "changed nodes.n.wasm.sha256: "
	if one.Spec.Hash == next.Spec.Hash || len(diff) != 1 || !strings.HasPrefix(diff[0], changed) {
		t.Errorf("the next differs by %q", diff)
	}
	if _, dropped := compile.Split(compile.Changes(one, next)); len(dropped) != 1 {
		t.Errorf("dropped is %q", dropped)
	}
	if typ := one.Plan.Nodes()[0].Type.String(); typ != "float" {
		t.Errorf("the node is %s", typ)
	}
	putModule(t, folder, "d>i", 0x41, 1)
	if _, diags := k.Parse([]byte(wasmGraph), ""); len(diags) != 1 || diags[0].Code != "type_mismatch" {
		t.Errorf("true + 1: %v", diags)
	}
	want := api.File{Of: "node n", Path: "m.wasm", File: filepath.Join(folder, "m.wasm")}
	if files := k.Files(one); len(files) != 1 || files[0] != want {
		t.Errorf("its files are %v", files)
	}
}

// What guests take is of what the graph holds; a graph without any has nothing to ask.
func TestGuestsAreOfWhatAGraphHolds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	m := wasmtest.Program{Pages: 4, Data: "graphd", Funcs: []wasmtest.Func{wasmtest.Spin("spin"), {Name: "f",
		Signature: "d>d", Code: wasmtest.Code(0x20, 0)}}}
	if err := os.WriteFile(filepath.Join(folder, "m.wasm"), m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &builtin.Kinds{Reach: builtin.Reach{Folder: folder}}
	u := parsed(t, k, wasmGraph)
	beside := u.Reactor().Beside
	if n := beside(); n != 4<<16+6 {
		t.Errorf("before the first call there are %d bytes", n)
	}
	r := &graph.Result{}
	epoch := graph.Epoch{Number: 1, Inputs: []boundary.Value{boundary.Int(1)}, Versions: []uint64{1}, Stamp: 2}
	u.Plan.Run(u.Plan.NewState(), &epoch, r)
	if r.Err != nil || len(r.Emitted) != 1 || r.Emitted[0].Value.String() != "2" {
		t.Errorf("it is %v, %v", r.Emitted, r.Err)
	}
	if n := beside(); n != 4<<16+6 {
		t.Errorf("afterwards there are %d bytes", n)
	}
	if parsed(t, k, strings.Replace(wasmGraph, "{ wasm: { module: m.wasm, function: f }, inputs: [a] }", "{ expr: a }",
		1)).Reactor().Beside != nil {
		t.Error("a graph without guests is asked")
	}
}

// M29: a replay of the journal comes to what a guest's call came to, on a machine that is faster by now or slower: one
// that had no time has none again, and one that had has it, whatever on_error says.
func TestM29GuestsHaveTheirTimeAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	putModule(t, folder, "l>l", // n times round
		0x03, 0x40, 0x20, 0, 0x42, 1, 0x7D, 0x22, 0, 0x42, 0, 0x52, 0x0D, 0, 0x0B, 0x20, 0)
	k := &builtin.Kinds{Modules: &wasm.Modules{}, Reach: builtin.Reach{Folder: folder}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	core := func(timeout string) *reactor.Core {
		cfg := parsed(t, k, `graph: g
accumulators: { a: { strategy: sequential, schema: { type: integer } } }
nodes:
  n: { wasm: { module: m.wasm, function: f, timeout: `+timeout+` }, inputs: [a], on_error: skip }
  r: { expr: 'n ?? -1' }
outputs: { o: { from: r, sink: { drop: {} } } }
durability: { mode: journal }
`).Reactor()
		cfg.Incarnation, cfg.PlanHash = 1, "the same"
		return reactor.NewCore(cfg)
	}
	told := func(c *reactor.Core) (text string) {
		for _, m := range c.Released() {
			text += fmt.Sprintf("%s@%d ", m.Value, m.Epoch)
		}
		for _, l := range c.DrainDeadLetters() {
			text += fmt.Sprintf("%s@%d ", l.Code, l.Epoch)
		}
		return text
	}
	for _, c := range []struct{ then, now, want string }{
		{"1ms", "10s", "epoch_timeout@1 "}, {"10s", "1ms", "0@1 "},
	} {
		live := core(c.then)
		live.Begin()
		live.Start(now)
		live.SetHealth(now, 0, accumulator.SocketOnly, "", "")
		live.Admit(now, 0, &accumulator.Handoff{Boundaries: []boundary.Boundary{{
			Value: boundary.Int(1e8), Events: 1, Size: 8,
		}}}, 0)
		for live.Fire(now) {
		}
		if got := told(live); got != c.want {
			t.Errorf("in %s it comes to %s, want %s", c.then, got, c.want)
		}
		again := core(c.now)
		replayer := reactor.NewReplayer(again, checkpoint.Head{})
		for _, e := range live.DrainJournal() {
			if err := replayer.Entry(e); err != nil {
				t.Error(err)
			}
		}
		replayer.Done()
		if got := told(again); got != c.want {
			t.Errorf("replayed with %s in place of %s it comes to %s, want %s", c.now, c.then, got, c.want)
		}
	}
}

// A1: a declaration from the network names modules only where it may read, and is told once; the operator's may name
// any.
func TestA1ModulesThatMayBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	putModule(t, folder, "d>d", 0x20, 0)
	absolute := strings.Replace(wasmGraph, "m.wasm", filepath.Join(folder, "m.wasm"), 1)
	for name, c := range map[string]struct {
		access *policy.Policy
		file   string
		code   string
	}{
		"from the network":              {&policy.Policy{}, "", spec.CodeDenied},
		"from the network, and allowed": {&policy.Policy{Folders: []string{folder}}, "", ""},
		"the kind is not allowed": {&policy.Policy{Folders: []string{folder},
			Kinds: []string{"sink.drop", "source.websocket", "node.expr"}}, "", spec.CodeDenied},
		"the operator's": {&policy.Policy{}, filepath.Join(t.TempDir(), "g.yaml"), ""},
	} {
		k := &builtin.Kinds{Reach: builtin.Reach{Access: c.access}}
		_, diags := k.Parse([]byte(absolute), c.file)
		if c.code == "" && len(diags) > 0 || c.code != "" && (len(diags) != 1 || diags[0].Code != c.code) {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

// A declaration waits once for starts that do not come to an end, and says what is wrong; one that is in the store was
// checked before, and runs: a call starts a guest, or fails.
func TestAStartThatDoesNotEndIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes five seconds")
	}
	folder := t.TempDir()
	m := wasmtest.Program{Start: 1, Funcs: []wasmtest.Func{{Name: "f", Signature: "d>d", Code: wasmtest.Code(0x20, 0)},
		{Signature: ">", Code: wasmtest.Code(0x03, 0x40, 0x0C, 0, 0x0B)}}}
	if err := os.WriteFile(filepath.Join(folder, "m.wasm"), m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := ""
	for n := range 8 { // forty seconds, one after the other
		nodes += fmt.Sprintf("  n%d: { wasm: { module: m.wasm, function: f }, inputs: [a] }\n", n)
	}
	doc := strings.Replace(wasmGraph, "nodes:\n", "nodes:\n"+nodes, 1)
	for name, parse := range map[string]func(k *builtin.Kinds) (code string){
		"applied": func(k *builtin.Kinds) string {
			_, err := k.ParseFor(t.Context(), "", func() ([]byte, error) { return []byte(doc), nil }, "")
			if e, ok := errors.AsType[*api.Error](err); ok && len(e.Diagnostics) == 1 {
				return e.Diagnostics[0].Code
			}
			return fmt.Sprint(err)
		},
		"stored": func(k *builtin.Kinds) string {
			if _, diags := k.ParseStored("", []byte(doc), ""); len(diags) > 0 {
				return diags[0].Code
			}
			_, err := k.ParseStoredFor(t.Context(), "", func() ([]byte, error) { return []byte(doc), nil }, "")
			if err != nil { // nor was it waited for again
				return err.Error()
			}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &builtin.Kinds{Modules: &wasm.Modules{}, Reach: builtin.Reach{Folder: folder}}
			if code, want := parse(k), map[string]string{"applied": wasm.CodeModuleInvalid}[name]; code != want {
				t.Errorf("%q, want %q", code, want)
			}
		})
	}
}
