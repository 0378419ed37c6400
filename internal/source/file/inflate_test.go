package file_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func packed(t *testing.T, to func(io.Writer) (io.WriteCloser, error), text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := to(&b)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Files are unpacked by what they begin with; one that is cut short is an error and not the end.
func TestInflate(t *testing.T) {
	t.Parallel()
	const text = "{\"n\":1}\n{\"n\":2}\n"
	gz := packed(t, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }, text)
	zst := packed(t, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }, text)
	for name, c := range map[string]struct {
		in, want string
		broken   bool
	}{
		"plain": {in: text, want: text}, "empty": {}, "short": {in: "1", want: "1"},
		"gzip": {in: string(gz), want: text}, "two in one": {in: string(gz) + string(gz), want: text + text},
		"zstd": {in: string(zst), want: text}, "two zstd": {in: string(zst) + string(zst), want: text + text},
		"cut gzip": {in: string(gz[:len(gz)-9]), broken: true}, "head of gzip": {in: string(gz[:4]), broken: true},
		"cut zstd": {in: string(zst[:len(zst)-3]), broken: true},
	} {
		r, err := file.Inflate(bytes.NewReader([]byte(c.in)))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if (err != nil) != c.broken || !c.broken && string(got) != c.want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// The line is that on which an event begins, also behind empty lines and records of several.
func TestLine(t *testing.T) {
	t.Parallel()
	for format, text := range map[string]string{
		"ndjson": "\n{\"a\":1}\n\n\n2\nbad\n", "csv": "\na,b\n1,\"x\ny\"\n2,z\n",
	} {
		r, err := file.NewReader(bytes.NewReader([]byte(text)), file.ReaderConfig{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for {
			var ev boundary.Event
			if err := r.Next(&ev); err != nil {
				break
			}
			got = append(got, r.Line())
		}
		want := map[string][]int64{"ndjson": {2, 5, 6}, "csv": {3, 5}}[format]
		if len(got) != len(want) {
			t.Fatalf("%s: got %v, want %v", format, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got %v, want %v", format, got, want)
			}
		}
	}
}
