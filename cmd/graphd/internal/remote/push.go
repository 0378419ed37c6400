package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/events"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

const (
	// A request holds this much: enough to make its cost per event small, little enough
	// that a rejected tail or a full queue is heard of soon.
	pushEvents = 1000
	pushBytes  = 1 << 20
	// maxShownRejections bounds what is printed of the rejected events of one push.
	maxShownRejections = 20
	// fullPause is how long to wait before a full queue is tried again; the daemon itself
	// has waited before it said so.
	fullPause = 500 * time.Millisecond
	// moreRoom is by how much requests grow again after one that found room in a full queue.
	moreRoom = 4
)

func (a *Verbs) pushCmd() *cobra.Command {
	var noWait bool
	var given func([]string) []string
	cmd := a.client(verb{
		use: "push GRAPH ACCUMULATOR [FILE|-]", short: "Push events into an accumulator",
		long: `Push events into an accumulator, from a file or standard input: a JSON document
a line (NDJSON), documents one after the other, or one array of them. They are
sent in order, a thousand at a time. Rejected events are listed and the others
go on; when the queue stays full, the push waits, or with --no-wait gives up.`,
		check:     cobra.RangeArgs(2, 3),
		words:     names.Parts(names.Accumulators),
		openEnded: true,
		run: func(ctx context.Context, c *client.Client, args []string) (err error) {
			path := "-"
			switch files := given(args[2:]); len(files) {
			case 0:
			case 1:
				path = files[0]
			default:
				return terminal.Exit(terminal.ExitUsage, fmt.Errorf("one file is pushed at a time, and these are %d",
					len(files)))
			}
			in, err := a.Open(path)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, in.Close()) }()
			p := &pusher{app: a, client: c, graph: args[0], accumulator: args[1], wait: !noWait}
			return p.run(ctx, path, in)
		},
	})
	given = terminal.Files(cmd, "file of events, or - for standard input")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "give up when the queue is full")
	return cmd
}

// pusher sends one stream of events and adds the answers up.
type pusher struct {
	app                *Verbs
	client             *client.Client
	graph, accumulator string
	wait               bool

	batch [][]byte
	bytes int
	sent  int // events that were answered
	total api.PushResult
	lost  int // rejections that are not listed
	told  time.Time
	stuck bool // the queue is full, and that was said
	most  int  // events of a request while there is little room; 0 for no bound
}

func (p *pusher) run(ctx context.Context, path string, in io.Reader) error {
	p.total.Durable = true
	stream := events.New(in)
	var readErr error
	for {
		var event []byte
		if event, readErr = stream.Next(); readErr != nil {
			break
		}
		p.batch = append(p.batch, event)
		p.bytes += len(event)
		if len(p.batch) < pushEvents && p.bytes < pushBytes {
			continue
		}
		if err := p.flush(ctx); err != nil {
			return p.stopped(err)
		}
	}
	if err := p.flush(ctx); err != nil {
		return p.stopped(err)
	}
	if !errors.Is(readErr, io.EOF) {
		p.app.Say("%s taken before it", terminal.Plural(p.total.Accepted, "event"))
		return terminal.Exit(terminal.ExitFormat, fmt.Errorf("%s: event %d: %w", inputName(path), stream.Count()+1,
			readErr))
	}
	if p.sent == 0 {
		return terminal.Exit(terminal.ExitFormat, fmt.Errorf("%s holds no events", inputName(path)))
	}
	return p.finish()
}

// stopped says how far a push came that ended early, so that it can be gone on with.
func (p *pusher) stopped(err error) error {
	if p.sent > 0 {
		p.app.Say("stopped after %s: %d accepted, %d rejected", terminal.Plural(p.sent, "event"), p.total.Accepted,
			len(p.total.Rejected)+p.lost)
	}
	return err
}

// flush sends what is gathered, going on behind a full queue for as long as it is to wait.
func (p *pusher) flush(ctx context.Context) error {
	for len(p.batch) > 0 {
		few := p.batch
		if p.most > 0 {
			few = few[:min(p.most, len(few))]
		}
		done, full, err := p.send(ctx, few)
		if err != nil {
			return err
		}
		clear(p.batch[:done])
		p.batch = p.batch[done:]
		if full == nil {
			p.stuck = false
			if p.most *= moreRoom; p.most >= pushEvents {
				p.most = 0
			}
			continue
		}
		if done > 0 || !p.stuck { // the daemon itself has waited before it said so
			p.app.Say("%s sent; the push waits: %s", terminal.Plural(p.sent, "event"), full.Detail)
		}
		p.stuck, p.most = true, 1 // what is refused is counted: one event asks whether there is room
		timer := time.NewTimer(fullPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
	p.batch, p.bytes, p.stuck = nil, 0, false
	return nil
}

// send makes one request and says how many of its events need not be sent again.
func (p *pusher) send(ctx context.Context, few [][]byte) (done int, full *api.Problem, err error) {
	ctx, cancel := p.app.deadline(ctx)
	defer cancel()
	push := p.client.Push
	if !p.wait {
		push = p.client.PushNow
	}
	r, err := push(ctx, p.graph, p.accumulator, append(bytes.Join(few, []byte{'\n'}), '\n'))
	problem, refused := errors.AsType[*api.Problem](err)
	switch {
	case err == nil:
		done = len(few)
	case refused && problem.Code == "all_rejected":
		done = len(few)
	case refused && problem.Status == http.StatusTooManyRequests:
		done = min(r.Accepted+len(r.Rejected), len(few))
		full = problem
	default: // shards at other members may have taken a part
		p.add(r, min(r.Accepted+len(r.Rejected), len(few)))
		return 0, nil, err
	}
	p.add(r, done)
	if full != nil && !p.wait {
		return done, full, err
	}
	return done, full, nil
}

func (p *pusher) add(r api.PushResult, done int) {
	p.total.Accepted += r.Accepted
	p.total.Filtered += r.Filtered
	p.total.Durable = p.total.Durable && r.Durable
	for _, rejection := range r.Rejected {
		rejection.Index += p.sent
		if len(p.total.Rejected) == maxShownRejections {
			p.lost++
			continue
		}
		p.total.Rejected = append(p.total.Rejected, rejection)
	}
	p.sent += done
	if now := p.app.Now(); now.Sub(p.told) >= time.Second && telemetry.IsTerminal(p.app.Err) {
		if !p.told.IsZero() { // nothing for a push that is done within a second
			p.app.Say("%d sent, %d rejected", p.sent, len(p.total.Rejected)+p.lost)
		}
		p.told = now
	}
}

// finish prints the sum. Any rejected event makes the push a failure.
func (p *pusher) finish() error {
	if p.total.Rejected == nil {
		p.total.Rejected = []api.Rejection{}
	}
	err := p.app.Print(&p.total, func() error {
		durable := ", not yet durable"
		switch {
		case p.total.Accepted == 0:
			durable = "" // there is nothing that could be
		case p.total.Durable:
			durable = ", durable"
		}
		return p.app.Line("%d accepted (%d of them filtered), %d rejected%s",
			p.total.Accepted, p.total.Filtered, len(p.total.Rejected)+p.lost, durable)
	})
	if err != nil || len(p.total.Rejected) == 0 {
		return err
	}
	for _, r := range p.total.Rejected {
		p.app.Say("event %d: %s: %s", r.Index+1, r.Code, r.Detail)
	}
	if p.lost > 0 {
		p.app.Say("and %d more", p.lost)
	}
	return terminal.ErrSaid
}
