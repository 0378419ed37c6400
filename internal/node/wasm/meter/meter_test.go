package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/graphd/graphd/internal/node/wasm/meter"
	. "github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// sum adds the numbers from its argument down to 1 in a loop.
func sum(name string) Func {
	return Func{Name: name, Signature: "l>l", Locals: "l", Code: Code(
		0x02, 0x40, 0x03, 0x40, // block, loop
		0x20, 0, 0x50, 0x0D, 1, // out when it is nought
		0x20, 1, 0x20, 0, 0x7C, 0x21, 1,
		0x20, 0, 0x42, 1, 0x7D, 0x21, 0,
		0x0C, 0, 0x0B, 0x0B, 0x20, 1)}
}

// fibonacci calls itself twice; it is the function with that index.
func fibonacci(name string, index int) Func {
	return Func{Name: name, Signature: "l>l", Code: Code(
		0x20, 0, 0x42, 2, 0x53, 0x04, 0x7E, 0x20, 0, 0x05, // as it is below 2
		0x20, 0, 0x42, 1, 0x7D, 0x10, index, 0x20, 0, 0x42, 2, 0x7D, 0x10, index, 0x7C, 0x0B)}
}

// fill writes so many bytes of 7, and gives the last of them.
func fill(name string) Func {
	return Func{Name: name, Signature: "l>l", Code: Code(
		0x41, 0, 0x41, 7, 0x20, 0, 0xA7, 0xFC, 11, 0,
		0x20, 0, 0xA7, 0x41, 1, 0x6B, 0x31, 0, 0)}
}

// grow asks for so many pages.
func grow(name string) Func {
	return Func{Name: name, Signature: "l>l", Code: Code(0x20, 0, 0xA7, 0x40, 0, 0xAC)}
}

// host imports a function of a host's and calls it.
var host = Import{Module: "env", Name: "double", Signature: "l>l"}

// runner runs a module, with and without a meter.
type runner struct {
	module api.Module
	asked  int
}

func run(t *testing.T, code []byte) *runner {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(64))
	t.Cleanup(func() { _ = r.Close(ctx) })
	out := &runner{}
	_, err := r.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().WithFunc(func() int64 {
		out.asked++
		return meter.Quantum
	}).Export(meter.ImportName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.NewHostModuleBuilder(host.Module).NewFunctionBuilder().WithFunc(func(n int64) int64 {
		return 2 * n
	}).Export(host.Name).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if out.module, err = r.InstantiateWithConfig(ctx, code, wazero.NewModuleConfig().WithName("")); err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *runner) call(t *testing.T, name string, n int64) int64 {
	t.Helper()
	got, err := r.module.ExportedFunction(name).Call(context.Background(), uint64(n))
	if err != nil {
		t.Fatalf("%s(%d): %v", name, n, err)
	}
	return int64(got[0])
}

func all() Program {
	return Program{
		Imports: []Import{host}, Pages: 2, Globals: []int64{5}, Table: 3, Elements: []int{0, 1, 2}, Data: "graphd",
		Start: 7,
		Funcs: []Func{
			sum("sum"), fibonacci("fibonacci", 2), fill("fill"), grow("grow"),
			{Name: "indirect", Signature: "l>l", Code: Code(0x20, 0, 0x41, 2, 0x11, 0, 0)}, // by the table: fibonacci
			Count("count"),
			{Signature: ">", Code: Code(0x42, 40, 0x24, 0)},                         // the start
			{Name: "double", Signature: "l>l", Code: Code(0x20, 0, 0x10, 0)},        // the host's
			{Name: "mine", Signature: "l>l", Code: Code(0x20, 0, 0x10, 1, 0x10, 2)}, // fibonacci(sum(n))
			{Name: "branches", Signature: "l>l", Code: Code(0x02, 0x40, 0x02, 0x40, 0x20, 0, 0xA7,
				0x0E, 1, 0, 1, 0x0B, 0x42, 1, 0x0F, 0x0B, 0x42, 2)},
		},
	}
}

// A module with a meter computes what it computes without, whatever its functions call: each other, by
// name, by a table, at the start, or the host.
func TestRewrittenComputesTheSame(t *testing.T) {
	t.Parallel()
	plain := all().Bytes()
	m, err := meter.Rewrite(plain)
	if err != nil {
		t.Fatal(err)
	}
	without, with := run(t, plain), run(t, m.Code)
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"sum", 0}, {"sum", 100_000}, {"fibonacci", 20}, {"fill", 1}, {"fill", 100_000}, {"grow", 1}, {"grow", 1000},
		{"indirect", 15}, {"count", 0}, {"count", 0}, {"double", 21}, {"mine", 5}, {"branches", 0}, {"branches", 1},
	} {
		if got, want := with.call(t, c.name, c.n), without.call(t, c.name, c.n); got != want {
			t.Errorf("%s(%d) is %d, and %d without a meter", c.name, c.n, got, want)
		}
	}
	if got := with.call(t, "count", 0); got != 43 { // 40 of the start, and two above
		t.Errorf("the start set the global so that it counts %d", got)
	}
}

// Whatever takes long asks: loops, calls, and what works on many bytes at a time.
func TestWhatTakesLongAsks(t *testing.T) {
	t.Parallel()
	m, err := meter.Rewrite(all().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, m.Code)
	for _, c := range []struct {
		name        string
		n           int64
		least, most int
	}{
		{"sum", 1_000_000, 200, 500}, // some sixteen instructions each turn
		{"fibonacci", 25, 50, 150},   // a quarter of a million calls
		{"double", 1, 0, 1},
		{"fill", 128 << 10, 0, 1},
	} {
		before := r.asked
		r.call(t, c.name, c.n)
		if asked := r.asked - before; asked < c.least || asked > c.most {
			t.Errorf("%s(%d) has asked %d times, want %d to %d", c.name, c.n, asked, c.least, c.most)
		}
	}
	before := r.asked
	for range 100 {
		r.call(t, "fill", 128<<10) // 8,192 for the bytes of each
	}
	if asked := r.asked - before; asked < 10 || asked > 30 {
		t.Errorf("filling 12 MiB has asked %d times", asked)
	}
}

// What a call can change is known from the code, by all that it can call.
func TestWhatACallCanChange(t *testing.T) {
	t.Parallel()
	module := all()
	module.Funcs = append(module.Funcs,
		Weigh("weigh"), Tally("tally", 8),
		Func{Name: "aside", Signature: "l>l", Code: Code(0x20, 0, 0x10, 6)}, // calls count
		Func{Name: "spoil", Signature: "l>l", Code: Code(0x41, 0, 0xD0, 0x70, 0x26, 0, 0x20, 0)},
		Func{Name: "spoils", Signature: "l>l", Code: Code(0x20, 0, 0x10, 14)},
	)
	m, err := meter.Rewrite(module.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{
		"weigh": {false, false}, "sum": {false, false}, "fibonacci": {false, false}, "mine": {false, false},
		"tally": {true, false}, "count": {true, false}, "aside": {true, false}, "fill": {true, false},
		"grow": {true, false}, "double": {true, false}, // the host may write
		"spoil": {false, true}, "spoils": {false, true}, "indirect": {true, true}, // by the table: any
	} {
		f, ok := m.Function(name)
		if got := [2]bool{f.Writes, f.Spoils}; !ok || got != want {
			t.Errorf("%s writes and spoils: %v, want %v", name, got, want)
		}
	}
	if _, ok := m.Function("memory"); ok {
		t.Error("the memory is a function")
	}
	if len(m.Imports) != 1 || m.Imports[0].Module != host.Module || m.Imports[0].Name != host.Name {
		t.Errorf("it imports %v", m.Imports)
	}
}

// A global that is no number cannot be put back: who writes it is thrown away.
func TestAGlobalThatIsNoNumberSpoils(t *testing.T) {
	t.Parallel()
	const vector = 0xFD
	code := Code(0, 0x23, 0, vector, 0x1D, 0, I64(1), 0x7C, vector, 0x12, 0x24, 0, 0x23, 0, vector, 0x1D, 0, 0x0B)
	zero := Code(0x7B, 1, vector, 0x0C, make([]byte, 16), 0x0B)
	b := slices.Clone(Program{}.Bytes()[:8])
	for _, section := range []struct {
		number  byte
		content []byte
	}{
		{1, Code(1, 0x60, 1, 0x7E, 1, 0x7E)}, {3, Code(1, 0)}, {6, Code(1, zero)}, {7, Code(1, 1, int('f'), 0, 0)},
		{10, Code(1, len(code), code)},
	} {
		b = append(append(b, section.number, byte(len(section.content))), section.content...)
	}
	m, err := meter.Rewrite(b)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := m.Function("f"); !ok || !f.Spoils {
		t.Errorf("it has %v, %+v", ok, f)
	}
	if got := run(t, m.Code).call(t, "f", 0); got != 1 {
		t.Errorf("it answers %d", got)
	}
}

// What is put in is out of the module's reach: neither may it know the global in which is counted, nor call what is
// asked, by an index that it would only have afterwards.
func TestTheMeterIsOutOfReach(t *testing.T) {
	t.Parallel()
	one := func(code ...any) Program {
		return Program{Globals: []int64{1}, Funcs: []Func{
			{Name: "f", Signature: ">", Locals: "i", Code: Code(code...)}}}
	}
	for name, m := range map[string]Program{
		"the global of what is left":  one(0x42, 0, 0x24, 1),
		"the global of what is full":  one(0x23, 2, 0x1A),
		"the function that is asked":  one(0x10, 1),
		"its type":                    one(0x02, 1, 0x0B),
		"its type in a call":          one(0x41, 0, 0x11, 1, 0),
		"a reference to it":           one(0xD2, 1, 0x1A),
		"the local":                   one(0x20, 1, 0x1A),
		"an export of the function":   {Funcs: []Func{{Name: "f", Signature: ">"}}, Start: 1},
		"an element":                  {Table: 2, Elements: []int{1}, Funcs: []Func{{Signature: ">"}}},
		"an instruction there is not": one(0x12, 0),
		"atomic instructions":         one(0xFE, 0, 2, 0),
	} {
		if _, err := meter.Rewrite(m.Bytes()); !errors.Is(err, meter.ErrModule) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "another version": {0, 'a', 's', 'm', 2, 0, 0, 0}, "text": []byte("(module)"),
		"cut short":                 all().Bytes()[:200],
		"more data than there is":   append(Program{}.Bytes(), 11, 6, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0),
		"a table of a GiB":          Program{Table: 1 << 27}.Bytes(),
		"more tables than there is": append(Program{}.Bytes()[:8], 4, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F),
	} {
		if _, err := meter.Rewrite(b); !errors.Is(err, meter.ErrModule) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What an engine reads otherwise than the meter does is refused: it could hide a loop behind what the meter takes for
// something else, and turn for ever without asking.
func TestTheMeterReadsAsTheEngineDoes(t *testing.T) {
	t.Parallel()
	hidden := func(code ...any) Program {
		m := Program{Funcs: []Func{{Name: "f", Signature: "d>d", Code: Code(code...)}}}
		for range 120 { // types enough for the type of a block to be a number of one
			m.Funcs = append(m.Funcs, Func{Signature: ">", Code: Code()})
		}
		return m
	}
	for name, m := range map[string]Program{
		"a block of a reference": hidden(0x02, 0x63, 0x02, 0x03, 0x7F, 0x0C, 0, 0x0B, 0, 0x0B, 0x1A, 0x20, 0),
		"a block of a reference that is there": hidden(0x02, 0x64, 0x02, 0x03, 0x7F, 0x0C, 0, 0x0B, 0, 0x0B, 0x1A,
			0x20, 0),
		"a block of an exception": hidden(0x02, 0x69, 0x0B, 0x20, 0),
		"a vector in two bytes":   hidden(0xFD, 0x8C, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1A, 0x20, 0),
	} {
		if _, err := meter.Rewrite(m.Bytes()); !errors.Is(err, meter.ErrModule) ||
			!strings.Contains(err.Error(), "is not supported") {
			t.Errorf("%s: %v", name, err)
		}
	}
	late := hidden(0x41, 0, 0xFD, 0x0F, 0xFD, 0x80, 1, 0x1A, 0x20, 0) // an instruction about vectors that has two bytes
	if _, err := meter.Rewrite(late.Bytes()); err != nil {
		t.Error(err)
	}
}

// A few bytes of code do not make an engine take gigabytes for them.
func TestLocalsAndBodiesAreBounded(t *testing.T) {
	t.Parallel()
	var many Program
	for range 21 {
		many.Funcs = append(many.Funcs, Func{Signature: ">", Locals: strings.Repeat("i", 49_999), Code: Code()})
	}
	if _, err := meter.Rewrite(many.Bytes()); !errors.Is(err, meter.ErrModule) {
		t.Errorf("a million locals: %v", err)
	}
	long := Program{Funcs: []Func{{Signature: ">", Code: bytes.Repeat([]byte{0x01}, 1<<20)}}}
	if _, err := meter.Rewrite(long.Bytes()); !errors.Is(err, meter.ErrModule) {
		t.Errorf("a function of a MiB: %v", err)
	}
}

// FuzzRewrite: bytes do no harm, and what an engine takes it takes with a meter too.
func FuzzRewrite(f *testing.F) {
	f.Add(all().Bytes())
	f.Add(Program{Pages: 1, Data: "x", Funcs: []Func{Echo("echo"), Alloc(8), Spin("spin"), Grow("grow")}}.Bytes())
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := meter.Rewrite(b)
		if err != nil || len(b) > 1<<16 {
			return
		}
		for _, name := range m.Functions() {
			m.Function(name)
		}
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer func() { _ = r.Close(ctx) }()
		_, plain := r.CompileModule(ctx, b)
		_, metered := r.CompileModule(ctx, m.Code)
		if plain != nil && strings.Contains(plain.Error(), "custom") {
			return // what is left out is of no harm
		}
		if (plain == nil) != (metered == nil) && !slices.ContainsFunc(m.Functions(), ours) {
			t.Errorf("without a meter: %v\nwith one: %v", plain, metered)
		}
	})
}

// ours reports a name that what is put in has too.
func ours(name string) bool {
	var n int
	_, err := fmt.Sscanf(name, "graphd:global:%d", &n)
	return err == nil || name == meter.Full || name == meter.Depth
}
