package socket

import (
	"context"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

const (
	// maxAhead is how many frames wait for the writer at most, beside those that it has taken: with a round
	// trip of a millisecond enough for a hundred thousand frames a second.
	maxAhead = 256
	// maxAheadBytes bounds the same in bytes. One frame always fits, whatever its size.
	maxAheadBytes = 1 << 20
)

// item is a frame of pushed events on its way, or the reply to one that was none.
type item struct {
	id   []byte // raw JSON, nil when the frame had none
	size int    // of the frame
	// reply is the answer where it is known already.
	reply []byte
	// first and more are the batches that were submitted; nearly every frame is one batch.
	first batch
	more  []batch
}

// batch is n events that were submitted, or the error of the attempt.
type batch struct {
	n    int
	wait func(context.Context) (api.PushResult, error)
	err  error
}

// wait waits for all batches of the item. Once ctx has ended, or one has failed, those
// after it are only waited for so that they are withdrawn.
func (it *item) wait(ctx context.Context, p *wire.Pushed) error {
	err := it.first.add(ctx, p)
	for i := range it.more {
		b := &it.more[i]
		if err != nil || p.Full {
			if b.wait != nil {
				_, _ = b.wait(ctx)
			}
			continue
		}
		err = b.add(ctx, p)
	}
	return err
}

func (b *batch) add(ctx context.Context, p *wire.Pushed) error {
	if b.wait == nil {
		return p.Refuse(b.err)
	}
	r, err := b.wait(ctx)
	if err != nil {
		return p.Refuse(err)
	}
	p.Add(r, b.n)
	return nil
}

// inbox is the bounded queue between the reader and the writer of a push connection. The
// writer takes all there is at once. A full inbox holds the reading back, and so the client.
type inbox struct {
	mu    sync.Mutex
	items []item
	bytes int
	// wake and room each hold one signal: that there is something, that there is room again.
	wake, room chan struct{}
}

func newInbox() *inbox {
	return &inbox{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put waits for room and appends it; when ctx ends first it appends it without room, for what was submitted
// is to be answered. Only the reader calls it.
func (b *inbox) put(ctx context.Context, it item) error {
	for {
		b.mu.Lock()
		if len(b.items) == 0 || len(b.items) < maxAhead && b.bytes+it.size <= maxAheadBytes {
			b.items = append(b.items, it)
			b.bytes += it.size
			b.mu.Unlock()
			signal(b.wake)
			return nil
		}
		b.mu.Unlock()
		select {
		case <-b.room:
		case <-ctx.Done():
			b.mu.Lock()
			b.items = append(b.items, it)
			b.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

// rest pops what there is, without waiting.
func (b *inbox) rest() []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.items
	b.items = nil
	return left
}

// drain waits for items and pops them all; into is what the last drain returned, to be used again. Only the writer
// calls it.
func (b *inbox) drain(ctx context.Context, into []item) ([]item, error) {
	clear(into)
	for {
		b.mu.Lock()
		items := b.items
		if len(items) > 0 {
			b.items, b.bytes = into[:0], 0
			b.mu.Unlock()
			signal(b.room)
			return items, nil
		}
		b.mu.Unlock()
		select {
		case <-b.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // the signal is there already
	}
}
