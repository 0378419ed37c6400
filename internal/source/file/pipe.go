package file

import (
	"context"
	"io"
	"sync"
)

// Pipe is a stream that may have to be waited for, such as standard input, whose reading can be given up. It belongs
// to one goroutine, but for Interrupt.
//
// A read of such a stream cannot be ended from here: the goroutine that is in it is left behind, with two buffers, and
// ends when the read does. All others are joined.
type Pipe struct {
	parts chan part
	left  part
	done  chan struct{}
	once  sync.Once
}

// part is what one read gave.
type part struct {
	data []byte
	err  error
}

// NewPipe reads src, which nobody else does from then on.
func NewPipe(src io.Reader) *Pipe {
	p := &Pipe{parts: make(chan part), done: make(chan struct{})}
	go p.read(src) // see Pipe for who waits for it
	return p
}

// read hands over what src has. A part is taken when the one before is used up, so that two buffers serve all.
func (p *Pipe) read(src io.Reader) {
	var buffers [2][]byte
	for i := range buffers {
		buffers[i] = make([]byte, blockSize)
	}
	for i := 0; ; i = 1 - i {
		n, err := src.Read(buffers[i])
		select {
		case p.parts <- part{buffers[i][:n], err}:
		case <-p.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements [io.Reader].
func (p *Pipe) Read(to []byte) (int, error) {
	for len(p.left.data) == 0 {
		if p.left.err != nil {
			return 0, p.left.err
		}
		select {
		case p.left = <-p.parts:
		case <-p.done:
			return 0, context.Canceled
		}
	}
	n := copy(to, p.left.data)
	p.left.data = p.left.data[n:]
	return n, nil
}

// Interrupt ends a Read under way, and all after it.
func (p *Pipe) Interrupt() { p.once.Do(func() { close(p.done) }) }
