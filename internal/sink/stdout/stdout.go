// Package stdout is the sink that writes values to the process's standard output,
// one JSON document a line:
//
//	{"epoch":7,"key":null,"output":"signals","value":{"edge":0.9,"side":"buy"}}
//
// Keys are sorted. A line also has "degraded", the names of what was not healthy,
// when the epoch ran on less than all its inputs.
//
// The standard output is shared by all outputs of all graphs: one [Output] stands
// for it, and every sink made from it writes whole lines. The lines of one batch
// go out in one write.
//
// # Concurrency
//
// The package starts no goroutine. Sinks of one Output may be used concurrently,
// each by one goroutine. A write to a pipe that nobody reads cannot be interrupted:
// it holds up the sinks of this Output, whose waiting ends with their contexts.
package stdout

import (
	"context"
	"fmt"
	"io"

	"github.com/graphd/graphd/internal/sink"
)

// chunk is about how many bytes go into one write: enough to make the system call
// cheap, little enough that a large batch is not rendered twice into memory.
const chunk = 256 << 10

// maxKept bounds the buffer kept between batches, so that one huge value does not
// hold its size for ever.
const maxKept = 4 * chunk

// Output is one shared stream of lines.
type Output struct {
	w io.Writer
	// turn has room for one: whoever puts a token in may write. A channel and not a mutex,
	// because the waiting must end with a context.
	turn chan struct{}
	torn bool // the last write ended inside a line; guarded by turn
}

// NewOutput makes an output of w.
func NewOutput(w io.Writer) *Output {
	return &Output{w: w, turn: make(chan struct{}, 1)}
}

// Sink makes a sink that writes to o.
func (o *Output) Sink() *Sink { return &Sink{out: o} }

// write writes whole lines, alone.
func (o *Output) write(ctx context.Context, lines []byte) error {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for standard output: %w", context.Cause(ctx))
	}
	defer func() { <-o.turn }()
	if o.torn {
		// What is left of the torn line becomes a line of its own, and spoils no other.
		if _, err := o.w.Write([]byte{'\n'}); err != nil {
			return fmt.Errorf("write to standard output: %w", err)
		}
	}
	n, err := o.w.Write(lines)
	o.torn = n > 0 && lines[n-1] != '\n'
	if err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// Sink writes one output's values.
type Sink struct {
	out *Output
	buf []byte // reused across batches
}

var _ sink.Sink = (*Sink)(nil)

// Deliver writes the batch. When it fails, whole lines of the batch may have gone out.
func (s *Sink) Deliver(ctx context.Context, batch []sink.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.buf = s.buf[:0]
	for i := range batch {
		s.buf = appendLine(s.buf, &batch[i])
		if len(s.buf) < chunk && i < len(batch)-1 {
			continue
		}
		if err := s.out.write(ctx, s.buf); err != nil {
			return err
		}
		s.buf = s.buf[:0]
	}
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	return nil
}

// Close has nothing to do: every batch was written, and the stream is the process's.
func (s *Sink) Close(context.Context) error { return nil }
