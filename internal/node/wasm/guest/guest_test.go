package guest

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// pages is what guests of tests may have.
const pages = 32

func function(t *testing.T, m Program, name string) *Function {
	t.Helper()
	module, err := new(Modules).Module(m.Bytes(), pages)
	if err != nil {
		t.Fatal(err)
	}
	f, err := module.Function(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// short is a call that ends soon or is stopped soon.
func short() Call { return Call{Now: time.Unix(1, 0), Within: 20 * time.Millisecond} }

// long is a call that has all the time it needs, on a slow machine too.
func long() Call { return Call{Now: time.Unix(1, 0), Within: time.Minute} }

func numbers(f *Function, c Call, args ...uint64) (uint64, error) {
	g, err := f.Take(c)
	if err != nil {
		return 0, err
	}
	copy(g.Stack(), args)
	return g.Numbers()
}

func code(err error) string {
	e, _ := errors.AsType[*Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}

// What never ends is stopped when its time is over, whether it turns in a loop, calls itself, or works on
// many bytes; and what comes after it is answered.
func TestWhatNeverEndsIsStopped(t *testing.T) {
	t.Parallel()
	// Each function calls the one behind it twice: there is no loop, and 2^60 calls.
	tree := []Func{}
	for i := range 60 {
		tree = append(tree, Func{Signature: "d>d", Code: Code(0x20, 0, 0x10, i+1, 0x10, i+1)})
	}
	tree[0].Name = "tree"
	tree = append(tree, Func{Signature: "d>d", Code: Code(0x20, 0)})
	fill := Func{Name: "fill", Signature: "d>d", Code: Code(
		0x03, 0x40, 0x41, 0, 0x41, 7, I32(1<<20), 0xFC, 11, 0, 0x0C, 0, 0x0B, 0x00)}
	for name, m := range map[string]Program{
		"spin": {Funcs: []Func{Spin("spin"), Weigh("weigh")}},
		"tree": {Funcs: append(tree, Weigh("weigh"))},
		"fill": {Pages: 16, Funcs: []Func{fill, Weigh("weigh")}},
	} {
		f := function(t, m, name)
		began := time.Now()
		_, err := numbers(f, short(), 0)
		if took := time.Since(began); code(err) != CodeTimeout || took > time.Minute {
			t.Errorf("%s: %v after %v", name, err, took)
		}
		if n := len(f.module.ready.free); n != 0 {
			t.Errorf("%s: %d guests stand ready that were stopped", name, n)
		}
		next, err := f.module.Function("weigh")
		if err != nil {
			t.Fatal(err)
		}
		bits := math.Float64bits
		got, err := numbers(next, long(), bits(2), bits(3), bits(4), bits(5))
		if err != nil || math.Float64frombits(got) != 26 {
			t.Errorf("%s: the next call: %v, %v", name, math.Float64frombits(got), err)
		}
	}
}

// What gives up, or does what it may not, is told as such, and so is what needs more memory than it may have.
func TestWhatFailsIsTold(t *testing.T) {
	t.Parallel()
	fail := Import{Module: "graphd", Name: "fail", Signature: "ii>"}
	says := func(at, n int64) Func {
		return Func{Name: "says", Signature: "d>d", Code: Code(I32(at), I32(n), 0x10, 0, 0x20, 0)}
	}
	deep := Func{Name: "deep", Signature: "d>d", Code: Code(0x20, 0, 0x10, 0, 0x20, 0, 0xA0)}
	for _, c := range []struct {
		name, want, text string
		m                Program
	}{
		{"trap", CodeTrap, "unreachable", Program{Funcs: []Func{Trap("trap")}}},
		{"grow", CodeMemory, "raise memory", Program{Pages: 1, Funcs: []Func{Grow("grow")}}},
		{"deep", CodeTrap, "too deep", Program{Funcs: []Func{deep}}},
		{"says", CodeFailed, "says: no such", Program{Imports: []Import{fail}, Pages: 1, Data: "no such thing",
			Funcs: []Func{says(0, 7)}}},
		{"says", CodeFailed, "says: ", Program{Imports: []Import{fail}, Pages: 1, Funcs: []Func{says(-1, 7)}}},
	} {
		f := function(t, c.m, c.name)
		for range 3 {
			if _, err := numbers(f, long(), 0); code(err) != c.want || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
		}
	}
}

// A call finds what the guest was when it had started, whatever those before it have left behind: in a
// global, in the memory, in more memory, in a table.
func TestACallKeepsNothing(t *testing.T) {
	t.Parallel()
	pagesOf := Func{Name: "pages", Signature: "l>l", Code: Code(0x41, 1, 0x40, 0, 0x1A, 0x3F, 0, 0xAC)}
	// Whether the second entry of the table is null; then the first is put there.
	spoil := Func{Name: "spoil", Signature: "l>l", Code: Code(
		0x41, 1, 0x25, 0, 0xD1, 0xAC, 0x41, 1, 0x41, 0, 0x25, 0, 0x26, 0)}
	m := Program{Pages: 2, Globals: []int64{41}, Table: 2, Elements: []int{0},
		Data:  "\x00\x00\x00\x00\x00\x00\x00\x00\x29\x00\x00\x00\x00\x00\x00\x00\x01", // 41 at 8
		Funcs: []Func{Count("count"), Tally("tally", 8), Tally("far", 1000), pagesOf, spoil}}
	for name, want := range map[string]uint64{"count": 42, "tally": 42, "far": 1, "pages": 3, "spoil": 1} {
		f := function(t, m, name)
		for i := range 4 {
			if got, err := numbers(f, long(), 0); err != nil || got != want {
				t.Errorf("call %d of %s is %d, %v, want %d", i, name, got, err, want)
			}
		}
		if want := map[string]int{"count": 1, "tally": 1, "far": 1}[name]; len(f.module.ready.free) != want {
			t.Errorf("%d guests of %s stand ready, want %d", len(f.module.ready.free), name, want)
		}
	}
}

// The stack of a call that went deep is not kept with the guest.
func TestADeepStackIsLetGo(t *testing.T) {
	t.Parallel()
	depth := Func{Name: "depth", Signature: "l>l", Code: Code( // n == 0 ? 0 : depth(n-1) + 1
		0x20, 0, 0x50, 0x04, 0x7E, 0x42, 0, 0x05, 0x20, 0, 0x42, 1, 0x7D, 0x10, 0, 0x42, 1, 0x7C, 0x0B)}
	f := function(t, Program{Funcs: []Func{depth}}, "depth")
	for n, want := range map[uint64]bool{1: true, 20_000: false} {
		got, err := numbers(f, long(), n)
		if err != nil || got != n {
			t.Fatalf("%d deep: %d, %v", n, got, err)
		}
		g := f.module.ready.free[0]
		if kept := g.functions[f.number] != nil; kept != want {
			t.Errorf("%d deep: the stack is kept: %v", n, kept)
		}
	}
}

// How deep a call goes is its own: many that come back are not one that goes deep.
func TestDepthIsOfACall(t *testing.T) {
	t.Parallel()
	twice := Func{Name: "twice", Signature: "l>l", Code: Code(0x20, 0, 0x10, 1, 0x10, 1)}
	f := function(t, Program{Funcs: []Func{twice, {Signature: "l>l", Code: Code(0x20, 0, 0x42, 1, 0x7C)}}}, "twice")
	for i := range uint64(40_000) {
		if got, err := numbers(f, long(), i); err != nil || got != i+2 {
			t.Fatalf("call %d: %d, %v", i, got, err)
		}
	}
}

// Values go into the guest's memory and come out of it; what is not in it is told.
func TestValues(t *testing.T) {
	t.Parallel()
	m := Program{Pages: 1, Data: `{"x":1}`,
		Funcs: []Func{Echo("echo"), Say("say", 0, 7), Say("far", 65530, 7), Alloc(1000)}}
	for name, want := range map[string]string{"echo": `{"a":"ä"}`, "say": `{"x":1}`, "far": ""} {
		f := function(t, m, name)
		if !f.Values {
			t.Fatalf("%s is a function of numbers", name)
		}
		for range 2 {
			g, err := f.Take(long())
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Value([]byte(`{"a":"ä"}`))
			if string(got) != want || (want == "") != (code(err) == CodeResult) {
				t.Errorf("%s is %s, %v", name, got, err)
			}
		}
	}
	m.Funcs[len(m.Funcs)-1] = Alloc(1 << 20)
	g, err := function(t, m, "echo").Take(long())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = g.Value([]byte("{}")); code(err) != CodeResult {
		t.Errorf("room outside of the memory: %v", err)
	}
	m.Funcs = m.Funcs[:3]
	if f := function(t, m, "echo"); f.Values {
		t.Error("without alloc it is a function of values")
	}
}

// Imports that are not provided are named, with those that have another signature.
func TestImports(t *testing.T) {
	t.Parallel()
	m := Program{Imports: []Import{
		{Module: "env", Name: "fetch", Signature: "i>i"}, {Module: "graphd", Name: "meter", Signature: ">l"},
		{Module: system, Name: "fd_write", Signature: "i>i"},
		{Module: system, Name: "path_open", Signature: "iiiiillii>i"},
		{Module: system, Name: "clock_time_get", Signature: "ili>i"},
	}, Pages: 1, Funcs: []Func{Weigh("weigh")}}
	_, err := new(Modules).Module(m.Bytes(), pages)
	missing, _ := errors.AsType[*MissingError](err)
	if missing == nil || len(missing.Names) != 3 || missing.Names[0] != "the function env.fetch [i32] -> [i32]" {
		t.Errorf("missing are %v", err)
	}
	_, err = new(Modules).Module(Program{Pages: pages + 1}.Bytes(), pages)
	if !errors.Is(err, errMemory) || !strings.Contains(err.Error(), "give memory: 2112KiB or more") {
		t.Errorf("a memory too large: %v", err)
	}
}

// The clock is the epoch's and chance follows from the seed, in every call anew.
func TestClockAndChance(t *testing.T) {
	t.Parallel()
	m := Program{Pages: 1,
		Imports: []Import{{Module: system, Name: "clock_time_get", Signature: "ili>i"},
			{Module: system, Name: "random_get", Signature: "ii>i"}},
		Funcs: []Func{
			{Name: "now", Signature: "l>l", Code: Code(0x41, 0, 0x42, 0, 0x41, 8, 0x10, 0, 0x1A, 0x41, 8, 0x29, 3, 0)},
			{Name: "chance", Signature: "l>l", Code: Code(0x41, 8, 0x41, 8, 0x10, 1, 0x1A, 0x41, 8, 0x29, 3, 0)},
		}}
	now, chance := function(t, m, "now"), function(t, m, "chance")
	if got, err := numbers(now, long(), 0); err != nil || got != 1e9 {
		t.Errorf("it is %d, %v", got, err)
	}
	seen := map[uint64]int{}
	for i := range 6 {
		c := long()
		c.Seed = [2]uint64{7, uint64(i % 3)}
		got, err := numbers(chance, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen[got]++
	}
	if len(seen) != 3 {
		t.Errorf("three seeds give %v", seen)
	}
}

// Chance for a whole memory is work that is not metered: it ends with the time of the call too.
func TestChanceTakesNoLongerThanThereIsTime(t *testing.T) {
	t.Parallel()
	m := Program{Pages: 2, Imports: []Import{{Module: system, Name: "random_get", Signature: "ii>i"}},
		Funcs: []Func{{Name: "chance", Signature: "l>l", Code: Code(0x41, 0, I32(2<<16), 0x10, 0, 0xAC)}}}
	f := function(t, m, "chance")
	c := long()
	if got, err := numbers(f, c, 0); err != nil || got != 0 {
		t.Errorf("it answers %d, %v", got, err)
	}
	c.Within = 1
	if _, err := numbers(f, c, 0); code(err) != CodeTimeout {
		t.Errorf("it ended with %v", err)
	}
}

// A module is compiled once for all who have it, and its code goes when nobody has it any more.
func TestModulesAreShared(t *testing.T) {
	t.Parallel()
	var ms Modules
	get := func(n int64) *Module {
		m, err := ms.Module(Program{Globals: []int64{n}, Funcs: []Func{Weigh("weigh")}}.Bytes(), pages)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one := get(0)
	if get(0) != one {
		t.Error("it was compiled twice")
	}
	for i := range int64(2 * held) {
		get(i + 1)
	}
	if get(0) != one {
		t.Error("it was compiled again while somebody has it")
	}
	runtime.KeepAlive(one)
	for range 100 { // until the last of them are collected
		runtime.GC()
		ms.mu.Lock()
		alive := 0
		for _, w := range ms.known {
			if w.Value() != nil {
				alive++
			}
		}
		ms.mu.Unlock()
		if alive <= held {
			return
		}
	}
	t.Error("modules that nobody has are still there")
}

// A guest that is at work holds up nobody: the garbage of others is collected meanwhile, which needs all that runs to
// stop for a moment.
func TestACollectionNeedNotWait(t *testing.T) {
	t.Parallel()
	f := function(t, Program{Funcs: []Func{Spin("spin")}}, "spin")
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		close(begun)
		c := long()
		c.Within = 3 * time.Second
		if _, err := numbers(f, c, 0); code(err) != CodeTimeout {
			t.Errorf("it ended with %v", err)
		}
	}()
	<-begun
	for range 3 {
		runtime.GC()
	}
	select {
	case <-ended:
		t.Error("a collection waited for the guest")
	default:
	}
	<-ended
}

// Many may call at once, and a guest that spins keeps nobody from going on.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	m := Program{Pages: 1, Globals: []int64{0}, Funcs: []Func{Count("count"), Tally("tally", 8), Spin("spin")}}
	module, err := new(Modules).Module(m.Bytes(), pages)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"count", "tally", "spin", "count", "tally"} {
		all.Go(func() {
			f, err := module.Function(name)
			if err != nil {
				t.Error(err)
				return
			}
			for range 200 {
				c := long()
				if name == "spin" {
					c.Within = time.Millisecond
				}
				got, err := numbers(f, c, 0)
				if name == "spin" && code(err) != CodeTimeout || name != "spin" && (err != nil || got != 1) {
					t.Errorf("%s is %d, %v", name, got, err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := len(module.ready.free); n > module.ready.most {
		t.Errorf("%d guests stand ready", n)
	}
}
