package builtin_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/spec"
)

// M33: positions belong to a source's identity. A change of these fields, and of no others,
// makes a graph that goes on after an update begin to read anew.
func TestIdentityOfSources(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"websocket": nil, // what is pushed has no position
		"http":      nil,
		"file":      {"Format", "Path"}, // the same bytes read in another way are other events
		"generator": {"Expr", "Seed"},   // a position is the number of an event, however fast and many they come
		// A position names its topic and partition, and brokers move: neither topics nor brokers count.
		"kafka":            {"Format"},
		"poll":             {"HTTP"}, // a position is the digest of what that URL answered
		"websocket_client": {"URL"},
		"graph":            {"Name", "Output"},
		"go":               {"Name.Name"},
	}
	kinds := new(builtin.Kinds).Declared().Sources
	if len(kinds) != len(want) {
		t.Errorf("the table has %d kinds, there are %d", len(want), len(kinds))
	}
	for _, k := range kinds {
		c := reflect.New(reflect.TypeOf(k.Default())).Elem()
		moved := map[string]bool{}
		for range 2 { // as it is by default, and with every field set
			w := walker{hash: func() string {
				return c.Interface().(spec.SourceConfig).Identity()
			}, moved: moved, seen: map[string]bool{}}
			w.walk(c, "")
			fill(c)
		}
		maps.DeleteFunc(moved, func(_ string, is bool) bool { return !is })
		if got := slices.Sorted(maps.Keys(moved)); !slices.Equal(got, want[k.Name()]) {
			t.Errorf("%s: %q make another source, want %q", k.Name(), got, want[k.Name()])
		}
	}
}
