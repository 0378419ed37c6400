package guest

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// A module that does not come to an end of its start is refused when it is read, and a call does not wait for one for
// as long as that.
func TestAStartThatNeverEnds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes six seconds")
	}
	f := function(t, Program{Start: 1, Funcs: []Func{Weigh("weigh"),
		{Signature: ">", Code: Code(0x03, 0x40, 0x0C, 0, 0x0B)}}}, "weigh")
	err := f.module.Begin()
	if code(err) != CodeTimeout || !strings.Contains(err.Error(), startWithin.String()) || !f.module.Late() {
		t.Errorf("when it is read: %v", err)
	}
	if strings.Contains(err.Error(), "timeout") {
		t.Errorf("more than there is cannot be given: %v", err)
	}
	_, err = numbers(f, short(), 0, 0, 0, 0)
	if code(err) != CodeTimeout || !strings.Contains(err.Error(), againWithin.String()) ||
		!strings.Contains(err.Error(), "raise timeout, up to 5s") {
		t.Errorf("when it is called: %v", err)
	}
}

// What a start has failed with is told to everybody who reads the module, of one start.
func TestAStartThatFailsIsTriedOnce(t *testing.T) {
	t.Parallel()
	m := function(t, Program{Start: 1, Funcs: []Func{Weigh("weigh"), {Signature: ">", Code: Code(0x00)}}},
		"weigh").module
	first := m.Begin()
	if second := m.Begin(); code(first) != CodeTrap || second != first || m.Late() {
		t.Errorf("%v, and then %v", first, second)
	}
}

// A guest stands ready once its module has been read, and goes with the last who has a function of it, though the code
// is kept.
func TestGuestsGoWithTheFunctions(t *testing.T) {
	t.Parallel()
	var ms Modules
	m, err := ms.Module(Program{Pages: 1, Data: "x", Funcs: []Func{Weigh("weigh"), Spin("spin")}}.Bytes(), pages)
	if err != nil {
		t.Fatal(err)
	}
	stands := func() int {
		m.ready.mu.Lock()
		defer m.ready.mu.Unlock()
		return len(m.ready.free)
	}
	use := func() {
		f, err := m.Function("weigh")
		if err == nil {
			_, err = m.Function("spin")
		}
		if err == nil {
			err = m.Begin()
		}
		if err == nil {
			err = m.Begin() // once is enough
		}
		if n := stands(); err != nil || n != 1 || m.Bytes() == 0 {
			t.Errorf("%d guests stand ready, %v", n, err)
		}
		runtime.KeepAlive(f)
	}
	for range 2 { // they come again
		use()
		for n := 0; stands() > 0 && n < 10_000; n++ {
			runtime.GC() // until the functions are collected
		}
		if n := stands(); n > 0 || m.Bytes() > 0 {
			t.Errorf("%d guests that nobody can call stand ready, of %d bytes", n, m.Bytes())
		}
	}
}

// The system's clock says times before 1970 and after 2554 as the nearest that it has.
func TestNanos(t *testing.T) {
	t.Parallel()
	for at, want := range map[time.Time]uint64{
		time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC): 0,
		time.Unix(7, 5): 7e9 + 5,
		time.Date(2400, 1, 1, 0, 0, 0, 1, time.UTC): 13569465600e9 + 1,
		time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC): math.MaxUint64,
	} {
		if got := nanos(at); got != want {
			t.Errorf("%v is %d, want %d", at, got, want)
		}
	}
}
