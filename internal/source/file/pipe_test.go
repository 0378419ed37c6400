package file_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graphd/graphd/internal/source/file"
)

// A pipe gives what its stream has, whatever that gives at once, and its end or error after it.
func TestPipe(t *testing.T) {
	t.Parallel()
	text, broken := strings.Repeat("some text of a stream\n", 40_000), errors.New("broken")
	for name, src := range map[string]io.Reader{
		"as it is": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)),
		"with the end": iotest.DataErrReader(strings.NewReader(text)),
		"broken":       io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)),
	} {
		got, err := io.ReadAll(file.NewPipe(src))
		if string(got) != text || (err != nil) != (name == "broken") || err != nil && !errors.Is(err, broken) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(text), err)
		}
	}
}

// A read that waits can be given up, though the stream's own cannot.
func TestPipeIsInterrupted(t *testing.T) {
	t.Parallel()
	src, write := io.Pipe()
	defer write.Close()
	p := file.NewPipe(src)
	ended := make(chan error)
	go func() {
		_, err := p.Read(make([]byte, 1))
		ended <- err
	}()
	p.Interrupt()
	p.Interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
