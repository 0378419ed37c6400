package guest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/graphd/graphd/internal/node/wasm/meter"
)

// instance is a guest that runs, or stands ready.
type instance struct {
	context.Context // of its calls: it tells the host's functions whose call it is

	module    api.Module
	memory    api.Memory // nil where there is none
	full      api.Global
	depth     api.MutableGlobal
	globals   []api.MutableGlobal
	functions []api.Function // by their number; nil until one is called
	stack     []uint64

	starts   bool // it has not begun yet
	call     Call
	deadline time.Time // zero until the guest asks for the first time in a call
	asked    int       // how often it has asked in a call
	random   *rand.PCG // nil until it is asked
	said     []byte    // what the guest has written to its standard error
}

// ofCall is the key of the instance in its context.
type ofCall struct{}

// Value implements [context.Context].
func (g *instance) Value(key any) any {
	if key == (ofCall{}) {
		return g
	}
	return nil
}

// callOf is whose call it is.
func callOf(ctx context.Context) *instance { return ctx.Value(ofCall{}).(*instance) }

// start makes a guest, and has it begin, for which it has so long.
func (m *Module) start(within time.Duration) (*instance, error) {
	g := &instance{Context: context.Background(), stack: make([]uint64, 0, 8), starts: true}
	g.begin(Call{Now: time.Unix(1, 0), Within: within}) // Go's runtime takes 0 for a clock that is broken
	module, err := m.runtime.InstantiateModule(experimental.WithMemoryAllocator(g, room), m.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, g.explain(err, "its start")
	}
	if g.module = module; m.code.Memory {
		g.memory = module.Memory()
	}
	g.full = module.ExportedGlobal(meter.Full)
	g.depth, _ = module.ExportedGlobal(meter.Depth).(api.MutableGlobal) // put in, as Full is
	if initialize := module.ExportedFunction("_initialize"); initialize != nil {
		if err := initialize.CallWithStack(g, nil); err != nil {
			return nil, errors.Join(g.explain(err, "its start"), g.close())
		}
	}
	for _, name := range m.code.Globals {
		v, ok := module.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return nil, errors.Join(failed(CodeTrap, "the global %s cannot be put back", name), g.close())
		}
		g.globals = append(g.globals, v)
	}
	m.ready.begin(g)
	g.starts = false
	return g, nil
}

func (g *instance) close() error {
	if g.module == nil {
		return nil
	}
	return g.module.Close(context.Background())
}

// begin makes everything ready for a call.
func (g *instance) begin(c Call) {
	g.call, g.deadline, g.asked, g.random, g.said = c, time.Time{}, 0, nil, g.said[:0]
}

// bytes are the guest's memory.
func (g *instance) bytes() []byte {
	if g.memory == nil {
		return nil
	}
	b, _ := g.memory.Read(0, g.memory.Size())
	return b
}

// putBack has the guest be as it was when it had started, and reports whether it is.
func (g *instance) putBack(p *pool) bool {
	memory := g.bytes()
	if len(memory) != p.size {
		return false
	}
	copy(memory, p.memory)
	clear(memory[len(p.memory):])
	for i, v := range g.globals {
		v.Set(p.saved[i])
	}
	return true
}

// forget lets go of the stacks of calls, which grow to some MiB and never shrink. For one to become large a call has to
// do much.
func (g *instance) forget() {
	if g.asked > 1 {
		clear(g.functions)
	}
}

// function is the function with a number.
func (g *instance) function(number int, name string) (api.Function, error) {
	for len(g.functions) <= number {
		g.functions = append(g.functions, nil)
	}
	if g.functions[number] == nil {
		f := g.module.ExportedFunction(name)
		if f == nil {
			return nil, failed(CodeTrap, "there is no function %s", name)
		}
		g.functions[number] = f
	}
	return g.functions[number], nil
}

// What ends a call from within a function of the host.
var (
	errTime = errors.New("its time is over")
	errSaid = errors.New("it has failed")
)

// explain makes the error of a call, or of a start, one of this package.
func (g *instance) explain(err error, what string) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	said := g.told()
	switch {
	case errors.Is(err, errTime) && g.starts && g.call.Within >= startWithin:
		return failed(CodeTimeout, "%s has not ended within %v, which is all that one may take, and was stopped; "+
			"have it do less before it is called", what, g.call.Within)
	case errors.Is(err, errTime) && g.starts:
		return failed(CodeTimeout, "%s has not ended within %v and was stopped; have it do less before it is called, "+
			"or raise timeout, up to %v", what, g.call.Within, startWithin)
	case errors.Is(err, errTime):
		return failed(CodeTimeout, "%s has not ended within %v and was stopped; have it do less, or raise timeout",
			what, g.call.Within)
	case errors.Is(err, errSaid):
		return failed(CodeFailed, "%s says: %s", what, said)
	}
	if said != "" {
		said = ": " + said
	}
	switch {
	case g.full != nil && g.full.Get() == meter.FullStack:
		return failed(CodeTrap, "the calls of %s go too deep; have it call itself less often%s", what, said)
	case g.full != nil && g.full.Get() == meter.FullMemory:
		return failed(CodeMemory, "%s needs more memory than it may have; have it keep less, or raise memory%s", what,
			said)
	}
	text, _, _ := strings.Cut(err.Error(), "\n") // what follows is where, in numbers of functions
	text = strings.TrimSuffix(strings.TrimPrefix(text, "wasm error: "), " (recovered by wazero)")
	return failed(CodeTrap, "%s was stopped: %s%s", what, text, said)
}

// told is what the guest has said of itself, without the stacks that Go's runtime tells behind a panic: they are longer
// than what has happened.
func (g *instance) told() string {
	said := strings.ToValidUTF8(string(g.said), "�")
	for _, stacks := range []string{"\n\ngoroutine ", "\n\nruntime stack:"} {
		said, _, _ = strings.Cut(said, stacks)
	}
	return strings.TrimSpace(said)
}
