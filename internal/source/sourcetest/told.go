package sourcetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// Told is an Out that passes on all it is told, one text at a time: of an event its offset and bytes, of
// a refused one its offset, code and length, of a position and of a health what they say.
type Told struct{ Texts chan string }

// NewTold makes one with room for so many texts that nobody has taken.
func NewTold(room int) *Told { return &Told{make(chan string, room)} }

func (o *Told) put(ctx context.Context, text string) error {
	select {
	case o.Texts <- text:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Emit implements [accumulator.Out].
func (o *Told) Emit(ctx context.Context, batch []boundary.Event) error {
	for i := range batch {
		if err := o.put(ctx, fmt.Sprintf("%d %s", batch[i].Pos.Offset, batch[i].Raw)); err != nil {
			return err
		}
	}
	return nil
}

// Refuse implements [accumulator.Out].
func (o *Told) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent) error {
	return o.put(ctx, fmt.Sprintf("%d %s %d", ev.Pos.Offset, bad.Code, len(ev.Raw)))
}

// Advance implements [accumulator.Out].
func (o *Told) Advance(ctx context.Context, pos boundary.Position) error {
	return o.put(ctx, pos.String())
}

// Health implements [accumulator.Out]. It blocks when there is no room.
func (o *Told) Health(h accumulator.Health, detail string) {
	o.Texts <- strings.TrimSpace(string(h) + " " + detail)
}
