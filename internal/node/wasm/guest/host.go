package guest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
	"unicode/utf16"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/graphd/graphd/internal/node/wasm/meter"
)

// hostFunction is what a guest may import.
type hostFunction struct {
	params, results []meter.Type
	run             func(g *instance, memory api.Memory, stack []uint64)
}

// system is the interface that guests with a runtime of their own expect of an operating system.
const system = "wasi_snapshot_preview1"

// What functions of the system answer.
const (
	sysOK          = 0
	sysBadFile     = 8
	sysFault       = 21
	sysInvalid     = 28
	sysNotProvided = 52
)

// provided are the functions that there are, by module and name.
func provided() map[string]map[string]hostFunction {
	type types = []meter.Type
	const i32, i64 = meter.I32, meter.I64
	return map[string]map[string]hostFunction{
		meter.ImportModule: {
			"fail": {types{i32, i32}, nil, fail},
		},
		"env": { // of AssemblyScript
			"abort": {types{i32, i32, i32, i32}, nil, abort},
			"seed":  {nil, types{meter.F64}, seed},
		},
		system: {
			"args_get":          {types{i32, i32}, types{i32}, none},
			"args_sizes_get":    {types{i32, i32}, types{i32}, noSizes},
			"environ_get":       {types{i32, i32}, types{i32}, none},
			"environ_sizes_get": {types{i32, i32}, types{i32}, noSizes},
			"clock_res_get":     {types{i32, i32}, types{i32}, resolution},
			"clock_time_get":    {types{i32, i64, i32}, types{i32}, clock},
			"random_get":        {types{i32, i32}, types{i32}, random},
			"fd_write":          {types{i32, i32, i32, i32}, types{i32}, write},
			"fd_fdstat_get":     {types{i32, i32}, types{i32}, status},
			"fd_prestat_get":    {types{i32, i32}, types{i32}, noFile},
			"poll_oneoff":       {types{i32, i32, i32, i32}, types{i32}, poll},
			"sched_yield":       {nil, types{i32}, none},
			"proc_exit":         {types{i32}, nil, exit},
		},
	}
}

// refusing are the functions of the system that are there and do nothing, so that who has them linked in and never
// calls them can start.
var refusing = []string{
	"clock_res_get", "fd_advise", "fd_allocate", "fd_close", "fd_datasync", "fd_fdstat_set_flags",
	"fd_fdstat_set_rights", "fd_filestat_get", "fd_filestat_set_size", "fd_filestat_set_times", "fd_pread",
	"fd_prestat_dir_name", "fd_pwrite", "fd_read", "fd_readdir", "fd_renumber", "fd_seek", "fd_sync", "fd_tell",
	"path_create_directory", "path_filestat_get", "path_filestat_set_times", "path_link", "path_open", "path_readlink",
	"path_remove_directory", "path_rename", "path_symlink", "path_unlink_file", "proc_raise",
	"sock_accept", "sock_recv", "sock_send", "sock_shutdown",
}

// find is what a guest imports; ok is false when it is not provided.
func find(all map[string]map[string]hostFunction, i meter.Import) (f hostFunction, ok bool) {
	if i.Kind != meter.KindFunction {
		return f, false
	}
	if f, ok = all[i.Module][i.Name]; ok {
		return f, slices.Equal(f.params, i.Signature.Params) && slices.Equal(f.results, i.Signature.Results)
	}
	one := slices.Equal(i.Signature.Results, []meter.Type{meter.I32})
	if i.Module != system || !one || !slices.Contains(refusing, i.Name) {
		return f, false
	}
	return hostFunction{i.Signature.Params, i.Signature.Results, refuse}, true
}

// unprovided are the imports that are not there, as texts for people.
func unprovided(imports []meter.Import) (missing []string) {
	all := provided()
	for _, i := range imports {
		if _, ok := find(all, i); !ok {
			missing = append(missing, fmt.Sprintf("the %s %s.%s%s", i.Kind, i.Module, i.Name, shown(i)))
		}
	}
	return missing
}

// shown is the signature of a function that is imported.
func shown(i meter.Import) string {
	if i.Kind != meter.KindFunction {
		return ""
	}
	return fmt.Sprintf(" %v -> %v", i.Signature.Params, i.Signature.Results)
}

// provide makes the modules that a guest imports from.
func provide(ctx context.Context, r wazero.Runtime, m *meter.Module) error {
	all := provided()
	builders := map[string]wazero.HostModuleBuilder{}
	made := map[string]bool{}
	add := func(module, name string, f hostFunction) {
		if made[module+" "+name] {
			return
		}
		made[module+" "+name] = true
		if builders[module] == nil {
			builders[module] = r.NewHostModuleBuilder(module)
		}
		run := func(ctx context.Context, caller api.Module, stack []uint64) {
			var memory api.Memory // nil where there is none, and not one of a type that is nil
			if m.Memory {
				memory = caller.Memory()
			}
			f.run(callOf(ctx), memory, stack)
		}
		builders[module].NewFunctionBuilder().
			WithGoModuleFunction(api.GoModuleFunc(run), values(f.params), values(f.results)).Export(name)
	}
	add(meter.ImportModule, meter.ImportName, hostFunction{nil, []meter.Type{meter.I64}, goOn})
	for _, i := range m.Imports {
		if f, ok := find(all, i); ok {
			add(i.Module, i.Name, f)
		}
	}
	for name, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("provide the imports from %s: %w", name, err)
		}
	}
	return nil
}

func values(types []meter.Type) []api.ValueType {
	list := make([]api.ValueType, len(types))
	for i, t := range types {
		list[i] = api.ValueType(t)
	}
	return list
}

// goOn answers a guest that asks whether it may go on.
func goOn(g *instance, _ api.Memory, stack []uint64) {
	g.asked++
	g.inTime()
	stack[0] = meter.Quantum
}

// inTime ends a call whose time is over. What works long for a guest here asks it too, for that is not metered.
func (g *instance) inTime() {
	switch now := time.Now(); {
	case g.deadline.IsZero():
		g.deadline = now.Add(g.call.Within)
	case now.After(g.deadline):
		panic(errTime)
	}
}

// fail ends the call with a text of the guest's.
func fail(g *instance, memory api.Memory, stack []uint64) {
	g.said = g.said[:0]
	if text, ok := piece(memory, stack[0], stack[1]); ok {
		g.say(text)
	}
	panic(errSaid)
}

// piece is a part of the memory.
func piece(memory api.Memory, at, n uint64) ([]byte, bool) {
	if memory == nil {
		return nil, false
	}
	return memory.Read(uint32(at), uint32(n))
}

// say notes what a guest says of itself.
func (g *instance) say(text []byte) {
	if room := maxText - len(g.said); len(text) > room {
		text = text[:room]
	}
	g.said = append(g.said, text...)
}

// abort ends the call as AssemblyScript's programs do: with a text of UTF-16 whose length in bytes stands before it.
func abort(g *instance, memory api.Memory, stack []uint64) {
	g.said = g.said[:0]
	at := uint32(stack[0])
	if length, ok := piece(memory, uint64(at-4), 4); ok && at >= 4 {
		n := min(binary.LittleEndian.Uint32(length), 2*maxText)
		if text, ok := piece(memory, uint64(at), uint64(n)); ok {
			units := make([]uint16, len(text)/2)
			for i := range units {
				units[i] = binary.LittleEndian.Uint16(text[2*i:])
			}
			g.say([]byte(string(utf16.Decode(units))))
		}
	}
	panic(errSaid)
}

func (g *instance) chance() *rand.PCG {
	if g.random == nil {
		g.random = rand.NewPCG(g.call.Seed[0], g.call.Seed[1])
	}
	return g.random
}

func seed(g *instance, _ api.Memory, stack []uint64) {
	stack[0] = api.EncodeF64(float64(g.chance().Uint64() >> 11))
}

func none(_ *instance, _ api.Memory, stack []uint64) { stack[0] = sysOK }

func noFile(_ *instance, _ api.Memory, stack []uint64) { stack[0] = sysBadFile }

func refuse(_ *instance, _ api.Memory, stack []uint64) { stack[0] = sysNotProvided }

// exitError ends the call of a guest that has ended its program, with this status.
type exitError uint32

func (e exitError) Error() string {
	return fmt.Sprintf("it has ended its program with status %d", uint32(e))
}

func exit(_ *instance, _ api.Memory, stack []uint64) { panic(exitError(stack[0])) }

// noSizes says that there are no arguments, and no variables of an environment.
func noSizes(_ *instance, memory api.Memory, stack []uint64) {
	stack[0] = put(memory, func() bool {
		return memory.WriteUint32Le(uint32(stack[0]), 0) && memory.WriteUint32Le(uint32(stack[1]), 0)
	})
}

// put answers with an error when something could not be written.
func put(memory api.Memory, write func() bool) uint64 {
	if memory == nil || !write() {
		return sysFault
	}
	return sysOK
}

func resolution(_ *instance, memory api.Memory, stack []uint64) {
	stack[0] = put(memory, func() bool { return memory.WriteUint64Le(uint32(stack[1]), 1) })
}

// clock says the time of the epoch, whichever clock is asked.
func clock(g *instance, memory api.Memory, stack []uint64) {
	stack[0] = put(memory, func() bool { return memory.WriteUint64Le(uint32(stack[2]), nanos(g.call.Now)) })
}

// nanos is a time as the system's clocks tell it, from 1970 to 2554: before and after that they stand still.
func nanos(t time.Time) uint64 {
	const second = uint64(time.Second)
	switch s := t.Unix(); {
	case s < 0:
		return 0
	case uint64(s) >= math.MaxUint64/second:
		return math.MaxUint64
	default:
		return uint64(s)*second + uint64(t.Nanosecond())
	}
}

// chances is how many words of chance are made before it is asked whether there is time for more.
const chances = 8192

func random(g *instance, memory api.Memory, stack []uint64) {
	stack[0] = put(memory, func() bool {
		to, ok := piece(memory, stack[0], stack[1])
		var word [8]byte
		for n := 0; len(to) > 0; n++ {
			if n%chances == 0 {
				g.inTime()
			}
			binary.LittleEndian.PutUint64(word[:], g.chance().Uint64())
			to = to[copy(to, word[:]):]
		}
		return ok
	})
}

// maxPieces bounds what one write may be made of.
const maxPieces = 1024

// write takes what is written to standard output and error: the latter is told when the call fails.
func write(g *instance, memory api.Memory, stack []uint64) {
	fd := uint32(stack[0])
	if fd != 1 && fd != 2 {
		stack[0] = sysBadFile
		return
	}
	g.inTime()
	stack[0] = put(memory, func() bool {
		written := uint32(0)
		for i := range min(uint32(stack[2]), maxPieces) {
			at := uint32(stack[1]) + 8*i
			from, ok := memory.ReadUint32Le(at)
			n, all := memory.ReadUint32Le(at + 4)
			text, there := memory.Read(from, n)
			if !ok || !all || !there {
				return false
			}
			if written += n; fd == 2 {
				g.say(text)
			}
		}
		return memory.WriteUint32Le(uint32(stack[3]), written)
	})
}

// What a guest waits for, and what it is told of that: their sizes in bytes.
const (
	subscription = 48
	event        = 32
	tagOfClock   = 0 // of what is waited for, a byte behind the guest's eight
)

// poll answers a guest that sleeps: at once, for the clock stands still. Go's runtime sleeps before it tells of a
// panic. There is nothing else to wait for.
func poll(g *instance, memory api.Memory, stack []uint64) {
	g.inTime()
	in, out, n, told := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if n == 0 || n > maxPieces {
		stack[0] = sysInvalid
		return
	}
	stack[0] = put(memory, func() bool {
		of, ok := memory.Read(in, n*subscription)
		to, there := memory.Read(out, n*event)
		if !ok || !there {
			return false
		}
		answers := make([]byte, 0, n*event) // the one may lie in the other
		for ; len(of) > 0; of = of[subscription:] {
			var answer [event]byte
			copy(answer[:8], of)
			if answer[10] = of[8]; of[8] != tagOfClock {
				binary.LittleEndian.PutUint16(answer[8:], sysNotProvided)
			}
			answers = append(answers, answer[:]...)
		}
		copy(to, answers)
		return memory.WriteUint32Le(told, n)
	})
}

// status says that standard input, output and error are terminals, of which nothing can be asked.
func status(_ *instance, memory api.Memory, stack []uint64) {
	if uint32(stack[0]) > 2 {
		stack[0] = sysBadFile
		return
	}
	stack[0] = put(memory, func() bool {
		return memory.Write(uint32(stack[1]), append([]byte{2}, make([]byte, 23)...))
	})
}
