package guest

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// What Go's runtime says of a panic is told, and what a guest in Go has too little of. Its runtime sleeps before it
// says something, leaves rubbish in the upper halves of the system's arguments, and tells of stacks at length.
func TestWhatAGuestInGoFailsWith(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles a part of the standard library for another system")
	}
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file,
		"./testdata/failing")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := new(Modules).Module(text, 8<<20/PageBytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, code, want string }{
		{"ends", CodeTrap, "ends was stopped: unreachable: panic: 1 is above nought"},
		{"index", CodeTrap, "panic: runtime error: index out of range [1] with length 0"},
		{"null", CodeTrap, "panic: runtime error: invalid memory address or nil pointer dereference"},
		{"divide", CodeTrap, "panic: runtime error: integer divide by zero"},
		{"fill", CodeMemory, "fill needs more memory than it may have; have it keep less, or raise memory: runtime: "},
		{"leave", CodeTrap, "leave was stopped: it has ended its program with status 3: nothing to do"},
		{"descend", CodeTrap, "the calls of descend go too deep; have it call itself less often"},
	} {
		f, err := m.Function(c.name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = numbers(f, Call{Now: time.Unix(9, 0), Within: time.Minute}, math.Float64bits(1))
		if code(err) != c.code || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: %s %v, want %s %s", c.name, code(err), err, c.code, c.want)
		}
	}
	f, err := m.Function("sleep") // its clock stands still
	if err != nil {
		t.Fatal(err)
	}
	if _, err = numbers(f, short(), 0); code(err) != CodeTimeout {
		t.Errorf("what sleeps: %v", err)
	}
}

// A guest that waits is answered at once, one that waits for a file that there is no such thing.
func TestWhatAGuestWaitsFor(t *testing.T) {
	t.Parallel()
	imports := []Import{{Module: "wasi_snapshot_preview1", Name: "poll_oneoff", Signature: "iiii>i"}}
	two := strings.Repeat("a", 8) + string(make([]byte, 40)) + strings.Repeat("b", 8) + "\x01" +
		string(make([]byte, 39))
	poll := func(n, answer int64) Func { // what it answers, or a word of the events at 128
		code := Code(I32(0), I32(128), I32(n), I32(256), 0x10, 0)
		if answer >= 0 {
			code = append(code, Code(0x1A, I32(answer), 0x28, 2, 0)...)
		}
		return Func{Name: "poll", Signature: ">l", Code: append(code, 0xAD)}
	}
	for _, c := range []struct {
		n, at int64
		want  uint64
	}{
		{2, -1, 0}, {2, 256, 2}, {2, 128, 0x61616161}, {2, 136, 0}, {2, 160, 0x62626262},
		{2, 168, 1<<16 | sysNotProvided},
		{0, -1, sysInvalid}, {maxPieces + 1, -1, sysInvalid}, {-1, -1, sysInvalid},
	} {
		f := function(t, Program{Imports: imports, Pages: 1, Data: two, Funcs: []Func{poll(c.n, c.at)}}, "poll")
		if got, err := numbers(f, long()); err != nil || got != c.want {
			t.Errorf("%d are waited for, at %d: %#x, %v, want %#x", c.n, c.at, got, err, c.want)
		}
	}
}
