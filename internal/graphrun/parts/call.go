package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// ErrOtherRelease is of a member that does not know what it is asked for.
var ErrOtherRelease = errors.New("it is of another release, which does not know what it is asked")

// Call asks a member to do something with shards of a graph that it has.
type Call struct {
	Tenant string `json:"tenant"`
	Graph  string `json:"graph"`
	// Of is how many shards the graph has as the caller knows it: the same keys are in the same shards.
	Of     int             `json:"of"`
	Shards []int           `json:"shards"`
	Verb   string          `json:"verb"`
	Args   json.RawMessage `json:"args,omitempty"`
}

// Answer is what a member answers: a value or a refusal, and how its shards stand then.
type Answer struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Refusal *Refusal        `json:"refusal,omitempty"`
	// Shards are the summaries of the call's shards, in its order.
	Shards []api.GraphSummary `json:"shards,omitempty"`
}

// Members asks other members. It is safe for concurrent use.
type Members interface {
	// Ask has a member carry a call out. An error says that there was no answer; begun, that it may have been
	// carried out all the same.
	Ask(ctx context.Context, member *checkpoint.Member, call *Call) (a *Answer, begun bool, err error)
	// Follow subscribes to shards of a member: the call's verb is [WatchVerb], its arguments are [Watching], and the
	// answer's value is where the subscription begins, as [api.Places] in a text. frames is nil where the answer is a
	// refusal.
	Follow(ctx context.Context, member *checkpoint.Member, call *Call) (a *Answer, frames Frames, err error)
}

// WatchVerb is the verb of a subscription.
const WatchVerb = "watch"

// Watching says what a subscription is to.
type Watching struct {
	Topics []string `json:"topics"`
	// Sample is of how many epochs a second the watcher is told, 0 of all.
	Sample int `json:"sample,omitempty"`
	// Since is where the watcher was, as [api.Places] in a text; "" begins with what comes.
	Since string `json:"since,omitempty"`
	// Again says that the watcher was there before: of a shard that Since has no place of, all that there was is
	// missed.
	Again bool `json:"again,omitempty"`
}

// Fits says that a call can be meant for a graph of so many shards.
func (c *Call) Fits(shards int) bool {
	return c.Of == shards && len(c.Shards) > 0 && !slices.ContainsFunc(c.Shards, func(n int) bool {
		return n < 0 || n >= shards
	})
}

// Frames are the frames of a subscription to another member.
type Frames interface {
	// Next waits for the next frame; any error is the end.
	Next(ctx context.Context) (*api.Frame, error)
	// Close ends the subscription.
	Close()
}

// Refusal is an [api.Error] on the wire.
type Refusal struct {
	Status int               `json:"status"`
	Code   string            `json:"code"`
	Detail string            `json:"detail"`
	Extra  map[string]any    `json:"extra,omitempty"`
	After  time.Duration     `json:"after,omitempty"`
	Rows   []api.ShardResult `json:"rows,omitempty"` // of the shards that were asked, where some have done it
}

// rows is the member of a refusal that says what each shard did, see [told.EveryShard].
const rows = "shards"

// RefusalOf is an error on the wire, nil of none; of what was no refusal the cause stays in the log of the member that
// was asked.
func RefusalOf(err error) *Refusal {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return &Refusal{Status: http.StatusInternalServerError, Code: api.CodeInternal, Detail: err.Error()}
	}
	r := &Refusal{Status: e.Status, Code: e.Code, Detail: e.Detail, After: e.After, Extra: map[string]any{}}
	for name, v := range e.Extra {
		if several, ok := v.([]api.ShardResult); ok && name == rows {
			r.Rows = several
			continue
		}
		r.Extra[name] = v
	}
	return r
}

// Error is the refusal again.
func (r *Refusal) Error() error {
	if r == nil {
		return nil
	}
	return &api.Error{Status: r.Status, Code: r.Code, Detail: r.Detail, Extra: r.Extra, After: r.After}
}

// of is what a shard has answered where its member has refused; nil where it has done it all the same.
func (r *Refusal) of(shard int) error {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Shard == shard {
			if row.Done {
				return nil
			}
			return &api.Error{Status: r.Status, Code: row.Code, Detail: row.Detail}
		}
	}
	return r.Error()
}

// Part is some shards of a graph that one member has.
type Part struct {
	Member *checkpoint.Member // nil: they are here
	Shards []int
	Answer Answer
}

// Split says who has each of the shards, each member once, who is here first. elsewhere is the other member that has a
// shard and can be asked.
func Split(ids []checkpoint.ID, elsewhere func(checkpoint.ID) (checkpoint.Member, bool)) (all []Part) {
	at := map[string]int{}
	for _, id := range ids {
		m, other := elsewhere(id)
		if !other {
			m.ID = ""
		}
		i, known := at[m.ID]
		if !known {
			i = len(all)
			at[m.ID] = i
			p := Part{}
			if other {
				p.Member = &m
			}
			all = append(all, p)
		}
		all[i].Shards = append(all[i].Shards, id.Shard)
	}
	slices.SortStableFunc(all, func(a, b Part) int {
		switch {
		case a.Member == nil:
			return -1
		case b.Member == nil:
			return 1
		}
		return 0
	})
	return all
}

// Refused is what a command to so many shards is refused with, that was carried out by all parts; nil where all shards
// have done it. What skip says yes to counts as done.
func Refused(all []Part, shards int, skip func(code string) bool) error {
	errs, failed := make([]error, shards), false
	for i := range all {
		r := all[i].Answer.Refusal
		if r == nil || skip != nil && skip(r.Code) {
			continue
		}
		for _, n := range all[i].Shards {
			errs[n] = r.of(n)
			failed = failed || errs[n] != nil
		}
	}
	if !failed {
		return nil
	}
	return told.EveryShard(errs)
}

// Unreached is the refusal of a member that has not answered; begun says that it may have heard.
func Unreached(m *checkpoint.Member, begun bool) *Refusal {
	name := m.Name
	if name == "" {
		name = m.ID
	}
	r := &Refusal{Status: http.StatusServiceUnavailable, Code: api.CodeOwnerUnreachable,
		Extra: map[string]any{"owner": name},
		Detail: fmt.Sprintf("daemon %s, which runs some of the graph's shards, cannot be reached: nothing was sent to "+
			"it; try again, and see the log of the one that was asked if it lasts", name)}
	if begun {
		r.Detail = fmt.Sprintf("daemon %s, which runs some of the graph's shards, did not answer: they may have done "+
			"it, or not; try again", name)
	}
	return r
}

type only struct{}

// Only has what is asked of a graph under the context be asked of some of its shards: the others are at other members,
// which are asked by themselves.
func Only(ctx context.Context, shards []int) context.Context {
	return context.WithValue(ctx, only{}, shards)
}

// Portion says that only some shards are meant by what is asked under ctx.
func Portion(ctx context.Context) bool { return ctx.Value(only{}) != nil }

// Asked says whether a shard is meant by what is asked under ctx.
func Asked(ctx context.Context, shard int) bool {
	shards, some := ctx.Value(only{}).([]int)
	return !some || slices.Contains(shards, shard)
}
