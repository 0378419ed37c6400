// Package rest lets a piece that has nothing to do stand without a goroutine.
//
// A piece is a loop: it does what there is to do, and waits. Most pieces of a daemon wait nearly always, and a
// goroutine that waits keeps its stack. So a piece may, instead of waiting, return a [*Rest]: it says what wakes the
// piece and how it goes on. Whoever runs it (a task of the supervisor) lets the goroutine go, and goes on upon another
// one when the piece is rung for. The piece is owned as before: it runs on one goroutine at a time, and what it has
// done before a rest has happened before what it does after it (M1, M6).
//
// A Rest travels as an error, the way of everything else that a piece answers. Who runs pieces and knows nothing of
// rests uses [Through].
//
// # Concurrency
//
// [Rest.Begin] starts no goroutine; its wake is called once, on the goroutine of whoever rings, and must not block.
package rest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Rest is the answer of a piece that has nothing to do for now. It is for one [Rest.Begin].
type Rest struct {
	// Ctx ends the rest when it is done: the piece goes on, and sees it.
	Ctx context.Context
	// For is how long the rest lasts at most; 0 is without end.
	For time.Duration
	// Arm has ring called as soon as there is something to do, at once where there is already. Ring never blocks,
	// may be called at any time and by anyone, and tells only once. The piece may go on before Arm has returned, so
	// that Arm reads nothing of it that is not safe for concurrent use.
	Arm func(ring func())
	// Resume is the piece, going on.
	Resume func() error
}

// Error makes it the answer of a piece.
func (*Rest) Error() string { return "at rest: there is nothing to do" }

// Of is the rest that err is, nil when it is another answer. A wrapped one is none: a rest is handed up as it is, or
// in another one.
func Of(err error) *Rest {
	r, _ := err.(*Rest) //nolint:errorlint // a wrapped one would go on without its wrapper
	return r
}

// Within is the rest of a piece that stands within another one: resume goes on with both.
func (r *Rest) Within(resume func() error) *Rest {
	return &Rest{Ctx: r.Ctx, For: r.For, Arm: r.Arm, Resume: resume}
}

// Above is Within for a piece whose own context ends with ctx, or is ended by somebody who then rings the bell. Nothing
// hangs on that context then: one that nothing waits for is small.
func (r *Rest) Above(ctx context.Context, bell *Bell, resume func() error) *Rest {
	return &Rest{
		Ctx: ctx, For: r.For, Resume: resume,
		Arm: func(ring func()) {
			bell.Hang(ring)
			if r.Ctx != nil && r.Ctx.Err() != nil {
				ring()
			}
			if r.Arm != nil {
				r.Arm(ring)
			}
		},
	}
}

// Then is piece, and ended when it has come to its end: not when it rests, but when it panics.
func Then(piece func() error, ended func()) (err error) {
	defer func() {
		if Of(err) == nil {
			ended()
		}
	}()
	err = piece()
	if r := Of(err); r != nil {
		return r.Within(func() error { return Then(r.Resume, ended) })
	}
	return err
}

// Begin has wake called once, when the rest is over. It may be before Begin returns.
func (r *Rest) Begin(wake func()) {
	b := &begun{wake: wake}
	if r.Arm != nil {
		r.Arm(b.ring) // first: a piece that goes on must not be armed by the rest before
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over.Load() {
		return
	}
	if r.Ctx != nil && r.Ctx.Done() != nil {
		b.stop = context.AfterFunc(r.Ctx, b.ring)
	}
	if r.For > 0 {
		b.timer = time.AfterFunc(r.For, b.ring)
	}
}

// begun is a rest that lasts.
type begun struct {
	over atomic.Bool
	wake func()

	mu    sync.Mutex
	stop  func() bool
	timer *time.Timer
}

func (b *begun) ring() {
	if b.over.Load() || !b.over.CompareAndSwap(false, true) {
		return
	}
	b.mu.Lock()
	if b.stop != nil {
		b.stop()
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.wake()
}

// Through is piece with its rests waited out on the caller's goroutine.
func Through(piece func() error) error {
	for {
		err := piece()
		r := Of(err)
		if r == nil {
			return err
		}
		rung := make(chan struct{})
		r.Begin(func() { close(rung) })
		<-rung // Ctx is among what rings
		piece = r.Resume
	}
}

// Bell is rung for a piece that may be at rest. Its zero value is ready for use, and safe for concurrent use.
type Bell struct{ ring atomic.Pointer[func()] }

// Hang has Ring call ring; it is what a Rest is armed with. Look afterwards whether there is something to do.
func (b *Bell) Hang(ring func()) { b.ring.Store(&ring) }

// Take has Ring call nobody: the piece goes on.
func (b *Bell) Take() { b.ring.Store(nil) }

// Ring tells a piece at rest, if it is. What there is to do is to be seen before.
func (b *Bell) Ring() {
	if ring := b.ring.Load(); ring != nil {
		(*ring)()
	}
}
