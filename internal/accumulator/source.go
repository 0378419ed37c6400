package accumulator

import (
	"context"

	"github.com/graphd/graphd/internal/boundary"
)

// Health is an accumulator's state (M2).
type Health string

// The states of an accumulator. Live, SocketOnly and Ended are healthy.
const (
	Starting     Health = "starting"
	Connecting   Health = "connecting"
	Live         Health = "live"
	Disconnected Health = "disconnected"
	SocketOnly   Health = "socket_only"
	Ended        Health = "ended"
	Restarting   Health = "restarting"
	Halted       Health = "halted"
	Failed       Health = "failed"
	Stopped      Health = "stopped" // by an operator, while its siblings go on
)

// Healthy reports whether the reactor may count on the accumulator.
func (h Health) Healthy() bool { return h == Live || h == SocketOnly || h == Ended }

// Source pulls events from somewhere outside. It retries lost connections itself
// and says so with Out.Health; an error it returns ends the accumulator, and the
// supervisor restarts it.
type Source interface {
	// Run hands events to out, strictly after from (nil: from the beginning), until ctx is
	// done or the input ends; both return nil. It is called once per start, on a goroutine
	// of its own, and must have stopped everything it started when it returns.
	//
	// A position that no longer exists is a *DataLost error (M44).
	Run(ctx context.Context, from []boundary.Position, out Out) error
}

// Lasting is what a Source may be too: it may be run again when a run has ended, and keeps what it has opened, as
// connections, for the next one. Its methods are called while it is not run.
type Lasting interface {
	// Last has runs that are ended by their context keep what they have opened.
	Last()
	// Close closes what was kept. Runs after it open anew.
	Close()
}

// Seeker is what a Source may be too: it can be made to go on from another place.
type Seeker interface {
	// Seek turns what an operator names into the positions that Run takes. An error says, for
	// people, what a position of this source looks like, or that there is none such. It may
	// be called at any time, also while another Source reads the same.
	Seek(ctx context.Context, position string) ([]boundary.Position, error)
}

// Mirror is what a Source may be too: it tells others how far the graph has come, from
// what is durable and never from what it has handed over.
type Mirror interface {
	// Durable says that more is in a checkpoint (M29). at answers which positions are, none while that is not known;
	// it is asked by one goroutine at a time, whenever that is of use, and the newest is the one that counts.
	// Durable never blocks, and may be called by any goroutine.
	Durable(at func() []boundary.Position)
	// Mirrors reports whether there is anybody to tell; else Durable need not be called. It does not change.
	Mirrors() bool
}

// Skipper is what a Source of several streams may be too: it can leave out what is lost
// and go on elsewhere at its positions. Other sources begin anew behind a gap.
type Skipper interface {
	// Skip turns the positions of a source that has lost data into those that Run can go on
	// from, and tells the gaps between them (M44): a stream without one stays where it is. It
	// may be called at any time, and reads nothing but what it needs to know.
	Skip(ctx context.Context, from []boundary.Position) (to []boundary.Position, gaps []Gap, err error)
}

// Gap is what a source leaves out of one stream, from one position to another.
type Gap struct {
	// From is the position that is lost, To where reading goes on: zero at the beginning of
	// what there is, or, with the reason "partition_gone", nowhere.
	From, To boundary.Position
	// Events is how many are left out, where that is Known: what a deleted topic held cannot be.
	Events int64
	Known  bool
	// Reason is stable, snake_case: "removed" by retention, "made_anew" under the same name,
	// "cut_short" by the loss of what had been read, "partition_gone", "replaced".
	Reason string
}

// Partitioned is what a Source may be too: its streams are partitions of topics, named topic/number, and it can leave
// out those that are of no use here (M49).
type Partitioned interface {
	// Portion has it read only the partitions whose number modulo so many is one that has says. Where a topic's number
	// of partitions is no multiple of that, it reads nothing of any and says so as a trouble. It is called before Run.
	Portion(of int, has func(remainder int) bool)
}

// Troubled is what an Out may be too: Trouble is Health of what is Disconnected, with a code: stable, snake_case.
type Troubled interface{ Trouble(code, detail string) }

// Trouble tells out, with the code if it has room for one.
func Trouble(out Out, code, detail string) {
	if t, ok := out.(Troubled); ok {
		t.Trouble(code, detail)
	} else {
		out.Health(Disconnected, code+": "+detail)
	}
}

// LagTeller is what a Source may be too.
type LagTeller interface {
	// Lag is how many events wait at the source. It may be called by any goroutine.
	Lag() (events int64, known bool)
}

// Out is where a source puts what it reads. All methods may be called from the source's
// goroutine only; those that take a context block while the accumulator is held back and
// return ctx's error when ctx is done.
type Out interface {
	// Emit hands over a batch in order. The batch and what it points to belong to the receiver.
	Emit(ctx context.Context, batch []boundary.Event) error
	// Refuse hands over an event that the source itself could not read: ev holds the
	// original bytes, or the beginning of them, and the position. It becomes a dead letter.
	Refuse(ctx context.Context, ev boundary.Event, bad *BadEvent) error
	// Advance says that all before pos has been handed over, although no event ends there:
	// a file that was finished, a gap in an offset range.
	Advance(ctx context.Context, pos boundary.Position) error
	// Health says how the connection is: Connecting, Live or Disconnected. detail is one line
	// for people, "" when there is nothing to say.
	Health(h Health, detail string)
}

// Recycler is what an Out may be too: it lends the batches it is done with.
type Recycler interface {
	// Batch returns an empty batch with room for n events.
	Batch(n int) []boundary.Event
}

// NewBatch makes an empty batch with room for n events, of a used one where out has any.
func NewBatch(out Out, n int) []boundary.Event {
	if r, ok := out.(Recycler); ok {
		return r.Batch(n)
	}
	return make([]boundary.Event, 0, n)
}

// DataLost says that a position to resume from no longer exists (M44).
type DataLost struct {
	Want string `json:"want"`
	Have string `json:"have"`
}

func (e *DataLost) Error() string {
	return "source data lost: want " + e.Want + ", have " + e.Have +
		"; look at the source, then skip the gap with the skip-lost command"
}

// Follower is what a Source may be too: it knows when it has handed over all that there is. Under
// the event clock the graph's other inputs wait for it until then (M26).
type Follower interface {
	// Follows reports whether it does; it then tells its Out, which is a [Pace].
	Follows() bool
}

// Pace is what an Out may be too. Its methods are for the source's goroutine and never block.
type Pace interface {
	// CaughtUp says that all there was of a stream has been handed over, or that there is more
	// again. The stream "" is the source as a whole, which is behind to begin with; its streams are
	// not, until it says so.
	CaughtUp(stream string, caughtUp bool)
}

// Looker is what a Follower may be too: whenever it is asked to, it looks at once whether there is more. Who has
// caught up is asked when something of another input has come, which may have been written later than what
// would be found now (M26).
type Looker interface {
	// Looks reports whether it does; it then heeds its Out, which is an [Asker].
	Looks() bool
}

// Asker is what an Out may be too. Its methods are for the source's goroutine and never block.
type Asker interface {
	// Asked has something in it when a look is asked for.
	Asked() <-chan struct{}
	// Look is called when a look begins, and names it.
	Look() (look int64)
	// Looked says that a look has found nothing, or that all it has found was handed over, whether that look
	// was asked for or not.
	Looked(look int64)
}

// AskerOf is out, if it asks, or what asks for nothing.
func AskerOf(out Out) Asker {
	if a, ok := out.(Asker); ok {
		return a
	}
	return mute{}
}

type mute struct{}

func (mute) Asked() <-chan struct{} { return nil }
func (mute) Look() int64            { return 0 }
func (mute) Looked(int64)           {}

// CaughtUp tells out, if it wants to know.
func CaughtUp(out Out, stream string, caughtUp bool) {
	if p, ok := out.(Pace); ok {
		p.CaughtUp(stream, caughtUp)
	}
}
