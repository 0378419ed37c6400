package remote

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/board"
	"github.com/graphd/graphd/cmd/graphd/internal/describe"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

const (
	// drawEvery is how often a live table is drawn: a person reads no faster.
	drawEvery = 200 * time.Millisecond
	// waitingFrames is how many frames may wait while a table is drawn.
	waitingFrames = 1024
)

// watch is tail as a live table. It ends as tail does.
func (a *Verbs) watch(ctx context.Context, c *client.Client, graph string, options client.TailOptions,
	count int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	frames, ended := make(chan *api.Frame, waitingFrames), make(chan error, 1)
	lost := make(chan string, 1)
	options.Lost = func(err error, wait time.Duration) {
		select {
		case lost <- whyLost(err, wait):
		default:
		}
	}
	go func() { // joined by the receive from ended
		n := 0
		ended <- c.Tail(ctx, graph, options, func(f *api.Frame) error {
			select {
			case frames <- f:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if n++; n == count {
				return errEnough
			}
			return nil
		})
	}()
	b := board.New(graph == "")
	ticker := time.NewTicker(drawEvery)
	defer ticker.Stop()
	for {
		select {
		case f := <-frames:
			a.add(b, f)
			b.Note("")
		case note := <-lost:
			b.Note(note)
		case <-ticker.C:
			if err := b.Draw(a.Terminal); err != nil {
				stop()
				return cmp.Or(err, <-ended) // the screen is what failed
			}
		case err := <-ended:
			for len(frames) > 0 {
				a.add(b, <-frames)
			}
			if drawErr := b.Draw(a.Terminal); err == nil {
				err = drawErr
			}
			return err
		}
	}
}

// add counts a frame in.
func (a *Verbs) add(b *board.Board, f *api.Frame) {
	now := a.Now()
	b.LeftOut(f.LeftOut)
	switch f.Type {
	case "output":
		key := ""
		if len(f.Key) > 0 && string(f.Key) != "null" {
			key = string(f.Key)
		}
		b.Say(f.Graph, f.Output, key, f.Epoch, terminal.Value(f.Value, detailWidth), now)
	case "firing":
		if f.Firing != nil && !f.Firing.OK {
			b.Say(f.Graph, "failed epochs", "", f.Firing.Epoch, a.outputsText(f.Firing), now)
		}
	case "health":
		b.Health(f.Graph, strings.TrimSuffix(f.Health+", "+describe.Reason(f.Reason), ", -"))
	case "summary":
		switch {
		case f.Removed:
			b.Gone(f.Graph)
		case f.List == nil:
			b.Health(f.Graph, describe.Standing(f))
		}
	case "gap":
		b.Missed(f.To - f.From + 1)
	}
}
