package wire

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/pushkey"
)

// Pusher takes events; see the server's Control.
type Pusher interface {
	Push(ctx context.Context, g api.Ref, accumulator string, events []json.RawMessage) (api.PushResult, error)
	RejectBody(ctx context.Context, g api.Ref, accumulator, code string, n int) error
}

// maxListed is how many rejected events an answer lists; the rest are counted in
// rejected_omitted. A body can hold a million bad events, and nobody reads that many.
const maxListed = 1000

// Pushed is how far a push has come, over all its batches.
type Pushed struct {
	api.PushResult
	// Omitted counts the rejections beyond those listed.
	Omitted int
	// Done counts the leading events that are dealt with: taken or rejected.
	Done int
}

// Add counts the result of a batch of n events in.
func (p *Pushed) Add(r api.PushResult, n int) {
	if p.Done == 0 {
		p.Known = r.Known
	}
	p.Known = p.Known && r.Known
	p.KeyKept = p.KeyKept || r.KeyKept
	switch { // it is said of what was taken: a batch of which nothing was says nothing
	case p.Accepted == 0:
		p.Durable = r.Durable
	case r.Accepted > 0:
		p.Durable = p.Durable && r.Durable
	}
	p.Accepted += r.Accepted
	p.Filtered += r.Filtered
	p.Full, p.Why, p.After, p.Refused = r.Full, r.Why, r.After, r.Refused
	for _, rejection := range r.Rejected {
		if len(p.Rejected) == maxListed {
			p.Omitted++
			continue
		}
		rejection.Index += p.Done
		p.Rejected = append(p.Rejected, rejection)
	}
	if r.Full { // the events before the first that was not taken were accepted or rejected
		n = min(n, r.Accepted+len(r.Rejected))
	}
	p.Done += n
}

// Push hands the events that p has not done yet over, a batch at a time, until all are
// taken or, when ctx ends, the queue was full: then the rest counts as rejected (M42). p tells
// how far it came, whatever the error.
func (p *Pushed) Push(ctx context.Context, to Pusher, g api.Ref, accumulator string, ev *Events) error {
	batch := ev.Skip(p.Done)
	if batch == nil {
		batch = ev.Next()
	}
	p.Full = false
	for {
		// Even without an event the accumulator is asked: it may not exist.
		r, err := to.Push(pushkey.Batch(ctx, p.Done), g, accumulator, batch)
		if err != nil {
			return p.Refuse(err)
		}
		p.Add(r, len(batch))
		if rest := 0; r.Full {
			if !p.Moved() && p.Refused == nil { // where it has gone the books are; who has refused counts
				rest = ev.Rest()
			}
			if rest == 0 {
				return nil
			}
			return to.RejectBody(context.WithoutCancel(ctx), g, accumulator, r.FullCode(), rest)
		}
		if batch = ev.Next(); batch == nil {
			return nil
		}
	}
}

// Refuse takes in what a batch was refused with: where others were taken before, the answer says so, and what is to be
// sent again. It answers with the error where there is nothing else to tell.
func (p *Pushed) Refuse(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || p.Done == 0 {
		return err
	}
	p.Full, p.Why, p.After, p.Refused = true, nil, e.After, e
	return nil
}

// Moved says that the graph was gone from this daemon before all events were taken: to another one, or with it.
func (p *Pushed) Moved() bool { return p.Why.Moved() }

// missed names the events before the first that was not looked at which have not been taken either, since their shards
// had no room, were elsewhere or have refused them: "" where there are none.
func (p *Pushed) missed() string {
	var codes []string
	for i := range p.Rejected {
		code := p.Rejected[i].Code
		again := code == api.CodeQueueFull || code == api.CodeOwnerMoved || code == api.CodeOwnerUnreachable ||
			code == api.CodeGraphStopping || code == api.CodeGraphRestarted ||
			p.Refused != nil && code == p.Refused.Code
		if again && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return "those that rejected lists as " + strings.Join(codes, " or ") + " and "
}

// Problem is what the push as a whole is refused with, nil when it is not: the queue
// stayed full, or no event of it could be accepted.
func (p *Pushed) Problem(f Form) *api.Error {
	switch {
	case p.Full && p.Refused != nil:
		e := *p.Refused
		e.Detail += "; then send " + p.missed() + "the events from index " + strconv.Itoa(p.Done) + " on again"
		e.Extra = maps.Clone(e.Extra)
		if e.Extra == nil {
			e.Extra = map[string]any{}
		}
		e.Extra["next_index"] = p.Done
		return &e
	case p.Full && p.Moved():
		e := Refuse(http.StatusServiceUnavailable, p.Why.Code, p.Why.Detail+"; send "+p.missed()+
			"the events from index "+strconv.Itoa(p.Done)+" on again, as Retry-After says")
		e.Extra = map[string]any{"next_index": p.Done}
		return e
	case p.Full:
		said, why := "the accumulator's queue stayed full", ""
		if p.Why != nil {
			if p.Why.Code == api.AwaitingAnswer { // by the times of events they are taken one instant after the other
				said = "the events waited for their turn"
			}
			why = " (" + p.Why.Code + ": " + p.Why.Detail + ")"
		}
		e := Refuse(http.StatusTooManyRequests, api.CodeQueueFull,
			said+why+": send "+p.missed()+"the events from index "+
				strconv.Itoa(p.Done)+" on again later")
		if p.Why != nil && (p.Why.Code == api.CodeQuotaExceeded || p.Why.Code == api.CodeLimitExceeded) {
			e.Code, e.Detail = p.Why.Code, p.Why.Detail+"; send the events from index "+strconv.Itoa(p.Done)+" on then"
		}
		e.Extra = map[string]any{"next_index": p.Done}
		return e
	case p.Accepted > 0 || len(p.Rejected) == 0:
		return nil
	case f == Single && undecodable(p.Rejected[0].Code):
		return Refuse(http.StatusBadRequest, p.Rejected[0].Code, p.Rejected[0].Detail)
	default:
		return Refuse(http.StatusUnprocessableEntity, api.CodeAllRejected, "no event was accepted; rejected says why")
	}
}

// undecodable says whether a rejection means that the event is no strict JSON, and so a body of one event is not.
func undecodable(code string) bool {
	switch code {
	case api.CodeInvalidJSON, api.CodeInvalidUTF8, api.CodeDuplicateKey, api.CodeTooDeep, api.CodeNumberOutOfRange:
		return true
	}
	return false
}

// AppendJSON encodes the result.
func (p *Pushed) AppendJSON(dst []byte) []byte { return append(p.AppendMembers(append(dst, '{')), '}') }

// AppendMembers encodes the result's members, without braces.
func (p *Pushed) AppendMembers(dst []byte) []byte {
	dst = append(dst, `"accepted":`...)
	dst = strconv.AppendInt(dst, int64(p.Accepted), 10)
	dst = append(dst, `,"filtered":`...)
	dst = strconv.AppendInt(dst, int64(p.Filtered), 10)
	dst = append(dst, `,"durable":`...)
	dst = strconv.AppendBool(dst, p.Durable)
	dst = append(dst, `,"rejected":[`...)
	for i := range p.Rejected {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(p.Rejected[i].Index), 10)
		dst = append(dst, `,"code":`...)
		dst = AppendString(dst, p.Rejected[i].Code)
		dst = append(dst, `,"detail":`...)
		dst = AppendString(dst, p.Rejected[i].Detail)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if p.Omitted > 0 {
		dst = append(dst, `,"rejected_omitted":`...)
		dst = strconv.AppendInt(dst, int64(p.Omitted), 10)
	}
	return dst
}
