package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/graphd/graphd/internal/node/wasm/meter"
)

// held is how many modules are kept that nobody has: who checks a declaration applies it next. Their code is, and no
// guest.
const held = 4

// Modules are the modules that are known. The zero Modules knows none.
type Modules struct {
	mu    sync.Mutex
	known map[identity]weak.Pointer[Module]
	last  []*Module
}

// identity is what makes two modules the same.
type identity struct {
	sum   [sha256.Size]byte
	pages uint32
}

// Module is a module that has been compiled.
type Module struct {
	identity

	code     *meter.Module
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	ready    pool

	mu    sync.Mutex
	wrong error // what has ended the start of a guest, and ends that of each
	late  bool  // the last start that Begin has waited for had no more time
}

// Module compiles a module whose memory may have so many pages, or finds it. An error is for the author of the
// declaration that names it.
func (ms *Modules) Module(code []byte, pages uint32) (*Module, error) {
	id := identity{sha256.Sum256(code), pages}
	ms.mu.Lock()
	m := ms.known[id].Value()
	ms.mu.Unlock()
	if m == nil {
		var err error
		if m, err = compile(code, id); err != nil {
			return nil, err
		}
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if other := ms.known[id].Value(); other != nil {
		m = other
	}
	ms.keep(m)
	return m, nil
}

// keep notes that a module is there.
func (ms *Modules) keep(m *Module) {
	if ms.known == nil {
		ms.known = map[identity]weak.Pointer[Module]{}
	}
	for id, w := range ms.known {
		if w.Value() == nil {
			delete(ms.known, id)
		}
	}
	ms.known[m.identity] = weak.Make(m)
	ms.last = slices.DeleteFunc(ms.last, func(o *Module) bool { return o == m })
	if ms.last = append(ms.last, m); len(ms.last) > held {
		ms.last = slices.Delete(ms.last, 0, 1)
	}
}

// MissingError is what a module imports and nobody provides.
type MissingError struct{ Names []string }

func (e *MissingError) Error() string {
	return "it imports what is not there: " + Listed(e.Names)
}

// Listed are names of a module in a text: some of them where there are many, and the beginning of long ones.
func Listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	const most, longest = 20, 100
	var list []string
	for _, name := range names[:min(len(names), most)] {
		if len(name) > longest {
			name = strings.ToValidUTF8(name[:longest], "") + "…"
		}
		list = append(list, name)
	}
	if len(names) > most {
		return strings.Join(list, ", ") + " and others"
	}
	return strings.Join(list, ", ")
}

// MaxMemory is how much memory a guest may have at most, in bytes.
const MaxMemory = 256 << 20

// errMemory is a module whose memory is too large from the beginning.
var errMemory = errors.New("its memory is larger at first than it may be")

func compile(code []byte, id identity) (*Module, error) {
	metered, err := meter.Rewrite(code)
	if err != nil {
		return nil, err
	}
	if missing := unprovided(metered.Imports); len(missing) > 0 {
		return nil, &MissingError{missing}
	}
	if metered.Pages > uint64(id.pages) {
		return nil, tooLarge(metered.Pages, id.pages)
	}
	ctx := context.Background()
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(id.pages).
		WithDebugInfoEnabled(false)
	m := &Module{identity: id, code: metered, runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if err = provide(ctx, m.runtime, metered); err == nil {
		m.compiled, err = m.runtime.CompileModule(ctx, metered.Code)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", meter.ErrModule, err), m.runtime.Close(ctx))
	}
	metered.Code = nil // what is run is the compiled code
	m.ready.most = runtime.GOMAXPROCS(0)
	// Nobody who calls a function has lost its module, so that what is closed is in nobody's hands.
	runtime.AddCleanup(m, func(r wazero.Runtime) { _ = r.Close(context.Background()) }, m.runtime)
	return m, nil
}

// tooLarge says how much memory a module has at first, and what to give it.
func tooLarge(has uint64, may uint32) error {
	const page = PageBytes >> 10
	if has*PageBytes > MaxMemory {
		return fmt.Errorf("%w: it has %dKiB, and no guest may have more than %dKiB; build it with less", errMemory,
			has*page, MaxMemory>>10)
	}
	return fmt.Errorf("%w: it has %dKiB, and memory is %dKiB; give memory: %dKiB or more, or build it with less",
		errMemory, has*page, may*page, has*page)
}

// Sum is the module's SHA-256, in hex.
func (m *Module) Sum() string { return hex.EncodeToString(m.sum[:]) }

// Functions are the names of the functions that it exports.
func (m *Module) Functions() []string { return m.code.Functions() }

// Begin has a guest stand ready, unless one has been started already: what is wrong with its start is told here, and no
// epoch waits for it. What has gone wrong is told again without another start, for it is the same each time; but for
// the time, of which there may be more.
func (m *Module) Begin() error {
	if m.ready.hasBegun() {
		return nil
	}
	if err := m.failure(); err != nil {
		return err
	}
	g, err := m.start(startWithin)
	m.note(err)
	if err == nil && !m.ready.give(g) {
		_ = g.close() // nothing is told by what has been thrown away
	}
	return err
}

// Late reports whether the last start that Begin has waited for had no more time.
func (m *Module) Late() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.late
}

func (m *Module) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wrong
}

// note notes what has become of a start.
func (m *Module) note(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := errors.AsType[*Error](err)
	if m.late = ok && e.Code == CodeTimeout; !m.late {
		m.wrong = err
	}
}

// Bytes is about how much memory a guest of the module takes, when one has been started.
func (m *Module) Bytes() int64 { return m.ready.bytes() }
