package decode

import (
	"runtime"
	"testing"
	"weak"
)

// What is kept of a declaration while its graph lives does not hold on to what has read it: the document's tree and
// what every field may be.
func TestWhatIsKeptHoldsNoDecoder(t *testing.T) {
	t.Parallel()
	read := func() (weak.Pointer[Decoder], any) {
		d, _, ok := Load([]byte("graph: g\n"), Options{})
		if !ok {
			t.Fatal("it was not read")
		}
		written, _ := d.Finish()
		return weak.Make(d), written
	}
	d, written := read()
	runtime.GC()
	if d.Value() != nil {
		t.Error("the decoder is still there")
	}
	runtime.KeepAlive(written)
}
