package boundary

import (
	"strings"
	"testing"
)

// A field whose name differs from the expected one in any byte is another one.
func TestEveryByteOfANameCounts(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 24; size++ {
		name := strings.Repeat("a", size)
		shape := NewShape(name)
		d := NewDecoder(shape, Limits{})
		for at := range size {
			other := name[:at] + "b" + name[at+1:]
			for _, tail := range []string{"", `,"z":1234567`} {
				for _, written := range []string{name, other, name} {
					v, err := d.Decode([]byte(`{"` + written + `":7` + tail + `}`))
					if err != nil {
						t.Fatal(err)
					}
					if v.Slot(shape, 0).IsAbsent() == (written == name) || v.Field(written).IsAbsent() {
						t.Errorf("of %s, where %s is expected, got %v", v, name, v.Slot(shape, 0))
					}
				}
			}
		}
	}
}
