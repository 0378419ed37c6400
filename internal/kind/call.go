package kind

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/outbound"
)

// Caller is an [Evaluator] whose value is an answer to a call. It makes none itself: it is asked what the call is, and
// what an answer comes to, both of which are pure. Whoever drives the epoch sees to the answer; Eval is not used.
type Caller interface {
	Evaluator
	// Request is what the node asks for.
	Request(env *expression.Env) (Request, error)
	// Answered is the node's value by an answer that came.
	Answered(a *Answer) (boundary.Value, error)
	// Concurrency is how many calls of the node may be on their way at once.
	Concurrency() int
	// Safe reports whether being asked changes nothing at who is asked, so that more may be asked than is needed.
	Safe() bool
	// Open makes the client of the node's calls, which dials through guard; nil is the one of the kind. It connects
	// to nothing.
	Open(guard *outbound.Guard) Client
}

// Client makes the calls of one node. Safe for concurrent use.
type Client interface {
	// Call answers a request, after as many tries as the declaration allows. It fails only with ctx's error;
	// whatever else goes wrong is in the answer.
	Call(ctx context.Context, r *Request) (Answer, error)
	// Told is what an operator sees of the calls.
	Told() Told
	Close()
}

// Request is what a node asks for, beside what its declaration says of all its calls.
type Request struct {
	URL  string
	Body []byte
	// Keep says whether the answer is remembered, for whoever asks with the same key.
	Keep Keep
	// At is the epoch's engine time.
	At time.Time
}

// Keep says that an answer is remembered by a key, for so long of engine time and as one of so many. The zero Keep
// says that none is.
type Keep struct {
	Key string
	TTL time.Duration
	Max int
}

// ID tells requests of a node apart.
func (r *Request) ID() RequestID {
	h := sha256.New()
	_, _ = h.Write([]byte(r.URL))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(r.Body)
	var id RequestID
	copy(id[:], h.Sum(nil))
	return id
}

// RequestID stands for all that a request asks for.
type RequestID [16]byte

// Answer is what came of a call. Its bytes are not changed by anybody.
type Answer struct {
	Status int
	Body   []byte
	// Code says why there is none; "" when there is. Text says it in a line, without what may be secret.
	Code, Text string
}

// Told is what an operator sees of the calls of a node.
type Told struct {
	// Calls were answered or given up, Failed of them given up; Retries are tries after the first.
	Calls, Failed, Retries int64
	// Seconds is how long all tries took together.
	Seconds float64
	// Open says that the breaker has calls fail at once, Trouble what the last one that was made failed with; "" for
	// all is well.
	Open    bool
	Trouble string
	// Row is how many tries have come to nothing since somebody has answered, with whatever is not worth another try;
	// Retrying is how many calls are on their way of which a try has.
	Row, Retrying int
	// Out is how many calls are on their way, Waiting how many wait for one of them to end; WaitedFor is since when
	// the next epoch waits for one, zero while it does not; Cached are answers that were remembered. They are of who
	// makes the calls.
	Out, Waiting int
	WaitedFor    time.Time
	Cached       int64
}
