package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/events"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

const (
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
sent in order, a thousand at a time, or what has come within a second. Rejected
events are listed and the others go on. When the queue stays full, the push
waits, or with --no-wait gives up; a lost connection and a daemon that starts
again are waited for, and what was under way is sent again under its key, so
that it is taken once. The push ends when nothing was taken for as long as
--timeout says, and at once where no daemon is there to begin with.`,
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
			if at, err := os.Stat(args[1]); path == "-" && strings.Contains(args[1], ".") && err == nil &&
				!at.IsDir() {
				return terminal.Exit(terminal.ExitUsage, fmt.Errorf("%s is a file, and before it comes the name of "+
					"the input: graphd push %s ACCUMULATOR %s", args[1], args[0], args[1]))
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

	batch []events.Event
	sent  int // events that were answered
	total api.PushResult
	open  bool // some of what was taken is not durable yet
	lost  int  // rejections that are not listed
	told  time.Time
	stuck string    // why the push waits, as it was said last
	most  int       // events of a request while there is little room; 0 for no bound
	moved time.Time // when events were last dealt with
	// reached says that a daemon was there, broken that a connection was lost on the way.
	reached, broken bool
}

func (p *pusher) run(ctx context.Context, path string, in io.Reader) error {
	stream := events.New(in)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	batches := stream.Batches(reading, p.app.Soon)
	var readErr error
	for readErr == nil {
		if p.batch, readErr = batches.Next(ctx); ctx.Err() != nil {
			return p.stopped(readErr)
		}
		if err := p.flush(ctx); err != nil {
			return p.stopped(err)
		}
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
	p.moved = time.Now() // waiting for input is not waiting for the daemon
	for len(p.batch) > 0 {
		few := p.batch
		if p.most > 0 {
			few = few[:min(p.most, len(few))]
		}
		left, full, err := p.deal(ctx, few)
		if err != nil {
			return err
		}
		p.batch = append(left, p.batch[len(few):]...)
		if full == nil {
			if p.most *= moreRoom; p.most >= events.PerBatch {
				p.most = 0
			}
			continue
		}
		p.most = 1 // what is refused is counted: one event asks whether there is room
		if err := p.pause(ctx, full); err != nil {
			return err
		}
	}
	p.stuck = ""
	return nil
}

// deal makes one request until it is known what has become of its events. Every attempt has the same key, so that the
// daemon takes none of them twice. left are those that were not taken since there was no room, which full says.
func (p *pusher) deal(ctx context.Context, few []events.Event) (left []events.Event, full *api.Problem, err error) {
	var lines []byte
	for _, e := range few {
		lines = append(append(lines, e.Text...), '\n')
	}
	options := client.PushOptions{Key: rand.Text(), NoWait: !p.wait}
	for {
		r, err := p.send(ctx, lines, options)
		problem, refused := errors.AsType[*api.Problem](err)
		_, nobody := errors.AsType[*client.Unreachable](err)
		switch {
		case err == nil, refused && problem.Code == api.CodeAllRejected:
			p.add(&r, few, nil)
			return nil, nil, nil
		case refused && isSplit(problem, &r):
			again := missed(problem, &r)
			for k, e := range few {
				if k >= *problem.NextIndex || again[k] {
					left = append(left, e)
				}
			}
			if p.add(&r, few[:min(*problem.NextIndex, len(few))], again); !p.wait {
				return left, problem, p.noRoom(problem, left)
			}
			return left, problem, nil
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			return nil, nil, p.late(terminal.Or(p.stuck, "the daemon does not answer"))
		case ctx.Err() != nil || !client.MayRepeat(err) || !p.reached && nobody ||
			!p.wait && refused && problem.Status == http.StatusTooManyRequests:
			return nil, nil, err
		}
		p.reached, p.broken = true, p.broken || !refused
		if err := p.pause(ctx, err); err != nil {
			return nil, nil, err
		}
	}
}

// send makes one attempt, within what is left of the time in which something must be taken.
func (p *pusher) send(ctx context.Context, lines []byte, o client.PushOptions) (api.PushResult, error) {
	if p.app.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, p.moved.Add(p.app.timeout))
		defer cancel()
	}
	return p.client.PushWith(ctx, p.graph, p.accumulator, lines, o)
}

// isSplit says whether a refusal tells which events were taken, so that the others can be sent under another key.
func isSplit(problem *api.Problem, r *api.PushResult) bool {
	if problem.NextIndex == nil || isUnsure(problem.Code) {
		return false
	}
	return !slices.ContainsFunc(r.Rejected, func(one api.Rejection) bool { return isUnsure(one.Code) })
}

// isUnsure says of a code that the event may have been taken.
func isUnsure(code string) bool {
	return code == api.CodeOwnerUnreachable || code == api.CodeGraphRestarted || code == api.CodeNotDurable
}

// missed are the events, by their place in the request, that were not taken although later ones were: their shards had
// no room, or are elsewhere by now.
func missed(problem *api.Problem, r *api.PushResult) map[int]bool {
	again := map[int]bool{}
	for i := range r.Rejected {
		switch r.Rejected[i].Code {
		case problem.Code, api.CodeQueueFull, api.CodeOwnerMoved, api.CodeGraphStopping:
			again[r.Rejected[i].Index] = true
		}
	}
	return again
}

// pause waits before the next attempt, and says why where that is new. The error is of time that has run out, or will
// have before the daemon wants to be asked again.
func (p *pusher) pause(ctx context.Context, why error) error {
	text, wait := reasonOf(why), fullPause
	if problem, ok := errors.AsType[*api.Problem](why); ok {
		wait = max(wait, problem.RetryAfter)
	}
	if p.app.timeout > 0 && time.Now().Add(wait).After(p.moved.Add(p.app.timeout)) {
		return p.late(text)
	}
	if text != p.stuck { // the daemon itself has waited before it said so
		p.app.Say("%s sent; the push waits: %s", terminal.Plural(p.sent, "event"), text)
		p.stuck = text
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// late is the error of a push of which nothing was taken for too long.
func (p *pusher) late(why string) error {
	return terminal.Exit(terminal.ExitDeadline, fmt.Errorf("nothing more was taken within %v: %s; --timeout waits "+
		"longer", p.app.timeout, why))
}

// advice is what a refusal tells who sends requests by hand: here it is done.
var advice = regexp.MustCompile(`[:;](?: then)? send (?:those that rejected lists as .* and )?the events from index ` +
	`\d+ on.*$`)

// reasonOf is why a push does not go on, without advice for who makes requests.
func reasonOf(err error) string {
	if nobody, ok := errors.AsType[*client.Unreachable](err); ok {
		return "no daemon answers at " + outbound.Shown(nobody.Base)
	}
	problem, refused := errors.AsType[*api.Problem](err)
	if !refused {
		return err.Error()
	}
	return advice.ReplaceAllString(terminal.Or(problem.Detail, problem.Title), "")
}

// noRoom is the refusal of a push that is not to wait.
func (p *pusher) noRoom(problem *api.Problem, left []events.Event) error {
	told := *problem
	told.Detail = reasonOf(problem)
	if len(left) > 0 {
		told.Detail += fmt.Sprintf("; the first event that was not taken is number %d", left[0].At+1)
	}
	return &told
}

// add counts the answer to a request in, of which the events few were dealt with, all but those that are sent again.
func (p *pusher) add(r *api.PushResult, few []events.Event, again map[int]bool) {
	p.reached = true
	p.total.Accepted += r.Accepted
	p.total.Filtered += r.Filtered
	// What was refused cannot be durable, and an answer of which nothing was taken says nothing of the others.
	p.open = p.open || r.Accepted > 0 && !r.Durable
	for _, rejection := range r.Rejected {
		if rejection.Index >= len(few) || again[rejection.Index] {
			continue
		}
		rejection.Index = few[rejection.Index].At
		if len(p.total.Rejected) == maxShownRejections {
			p.lost++
			continue
		}
		p.total.Rejected = append(p.total.Rejected, rejection)
	}
	if done := len(few) - len(again); done > 0 {
		p.sent += done
		p.moved = time.Now()
	}
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
	p.total.Durable = p.total.Accepted > 0 && !p.open
	if p.broken && p.open {
		p.app.Say("the connection was lost on the way: a daemon that was started anew may have lost some of these " +
			"events, or have some of those that were under way twice; with durability: journal neither happens")
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
