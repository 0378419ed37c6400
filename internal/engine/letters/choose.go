package letters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/engine/reasons"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/told"
)

const (
	// lookedAt bounds how many dead letters one request reads: an expression may choose few of many.
	lookedAt = 2000
	// lettersAtOnce is how many dead letters are held in memory at once.
	lettersAtOnce = 64
	// standardLetters and mostLetters are how many dead letters one request deals with.
	standardLetters, mostLetters = 100, 1000
)

// choice is which dead letters a request means.
type choice struct {
	query checkpoint.LetterQuery
	where *expression.Program // nil for all
	env   expression.Env
	// undecided is how many it could not be computed for.
	undecided int
}

func letterScope() expression.Scope {
	text, number := expression.Of(boundary.KindString), expression.Of(boundary.KindInt)
	return expression.Scope{Names: []expression.Name{
		{Name: "event", Type: expression.Any()}, {Name: "value", Type: expression.Any()},
		{Name: "key", Type: expression.Any()}, {Name: "at", Type: expression.Of(boundary.KindTime)},
		{Name: "code", Type: text}, {Name: "stage", Type: text}, {Name: "accumulator", Type: text},
		{Name: "output", Type: text}, {Name: "reason", Type: text}, {Name: "position", Type: text},
		{Name: "epoch", Type: number}, {Name: "events", Type: number}, {Name: "attempts", Type: number},
	}}
}

// chosen reads a choice.
func chosen(m *graphrun.Graph, c *api.LetterChoice, now time.Time) (*choice, error) {
	key, err := m.Key(c.Key)
	if err != nil {
		return nil, err
	}
	out := &choice{query: checkpoint.LetterQuery{Query: checkpoint.Query{Key: string(key)}, Code: c.Code,
		Stage: c.Stage, Accumulator: c.Accumulator, Output: c.Output}}
	if out.query.Since, err = reasons.Moment("since", c.Since, now); err != nil {
		return nil, err
	}
	if out.query.Until, err = reasons.Moment("until", c.Until, now); err != nil {
		return nil, err
	}
	if c.Where != "" {
		if out.where, err = expression.CompileBool(c.Where, letterScope()); err != nil {
			return nil, badChoice("where", err.Error())
		}
	}
	return out, nil
}

func badChoice(name, why string) error {
	return &api.Error{Status: http.StatusBadRequest, Code: api.CodeInvalidParameter, Detail: name + ": " + why}
}

// means reports whether `where` chooses a letter.
func (c *choice) means(l *checkpoint.DeadLetter) bool {
	if c.where == nil {
		return true
	}
	event := expression.OfJSON(l.Payload)
	c.env.Values = append(c.env.Values[:0], event, event, expression.OfJSON([]byte(l.Key)), boundary.Time(l.At),
		boundary.String(l.Code), boundary.String(l.Stage), boundary.String(l.Accumulator), boundary.String(l.Output),
		boundary.String(l.Reason), boundary.String(l.Position), boundary.Int(l.Epoch), boundary.Int(l.Events),
		boundary.Int(max(1, l.Attempts)))
	is, err := c.where.EvalBool(&c.env)
	if err != nil {
		c.undecided++
	}
	return is && err == nil
}

// List lists what could not be used, newest first: those that the next checkpoint
// will keep come before those in the store. A page that an expression chooses may be shorter, and even empty, and
// have a next all the same.
func (d *Desk) List(ctx context.Context, q api.LetterQuery) (api.LetterPage, error) {
	c, err := chosen(d.Graph.Graph, &q.LetterChoice, time.Now())
	if err != nil {
		return api.LetterPage{}, err
	}
	if q.Before == "" {
		// Letters reach the store with a checkpoint. Reading one list, and not two that may
		// overlap, is worth asking for it.
		if err := d.Graph.FlushLetters(ctx); err != nil {
			return api.LetterPage{}, err
		}
	}
	return d.stored(ctx, c, q)
}

// Known lists as [Desk.List] does, also where not all that is on its way can be asked for: missed says why not.
func (d *Desk) Known(ctx context.Context, q api.LetterQuery) (page api.LetterPage, missed, err error) {
	c, err := chosen(d.Graph.Graph, &q.LetterChoice, time.Now())
	if err != nil {
		return page, nil, err
	}
	if q.Before == "" {
		missed = d.Graph.FlushLetters(ctx)
	}
	page, err = d.stored(ctx, c, q)
	return page, missed, err
}

// stored lists what the store has.
func (d *Desk) stored(ctx context.Context, c *choice, q api.LetterQuery) (out api.LetterPage, err error) {
	none := api.LetterPage{}
	if q.Limit = min(q.Limit, mostLetters); q.Limit <= 0 {
		q.Limit = 50
	}
	out = api.LetterPage{Page: api.Page[api.DeadLetter]{Items: []api.DeadLetter{}, Next: q.Before}}
	for looked := 0; len(out.Items) < q.Limit && looked < lookedAt; {
		c.query.Limit, c.query.Before = q.Limit-len(out.Items), out.Next
		items, next, err := d.pile().page(ctx, c.query)
		if errors.Is(err, checkpoint.ErrBadCursor) {
			return none, told.BadCursor()
		}
		if err != nil {
			return none, fmt.Errorf("read the store: %w", err)
		}
		looked += len(items)
		for i := range items {
			if c.means(&items[i]) {
				out.Items = append(out.Items, toldLetter(&items[i]))
			}
		}
		if out.Next = next; next == "" {
			break
		}
	}
	if len(out.Items) == 0 && q.Before == "" {
		out.Note, err = d.missed(ctx, c)
	}
	return out, err
}

// toldLetter is a letter as it is listed: with the payload readable.
func toldLetter(l *checkpoint.DeadLetter) api.DeadLetter {
	out := api.DeadLetter{
		ID: l.ID, Shard: l.Shard, At: l.At, Accumulator: l.Accumulator, Stage: l.Stage, Code: l.Code, Reason: l.Reason,
		Epoch: l.Epoch, Key: l.Key, Position: l.Position, Events: l.Events, Folded: l.Folded, ReplayOf: l.ReplayOf,
		Attempts: max(1, l.Attempts), Output: l.Output, FiringID: l.FiringID,
	}
	out.Payload, out.PayloadEncoding = api.Payload(l.Payload)
	return out
}

// each gives the letters of a request to do, oldest first and a few at a time, and answers where the next
// request goes on. do says how many of the few it has dealt with; fewer than all end it.
func (d *Desk) each(ctx context.Context, req *api.LettersRequest, c *choice,
	do func(few []checkpoint.DeadLetter) int) (next string, err error) {
	if len(req.IDs) > 0 {
		return "", d.named(ctx, req.IDs, do)
	}
	q := c.query
	q.Oldest = true
	if q.After, q.UpTo, err = d.span(ctx, req.After); err != nil || q.UpTo == "" {
		return "", err
	}
	for dealt, looked := 0, 0; dealt < req.Limit && looked < lookedAt; {
		q.Limit = min(lettersAtOnce, req.Limit-dealt)
		items, more, err := d.pile().page(ctx, q)
		if err != nil {
			return "", fmt.Errorf("read the store: %w", err)
		}
		looked += len(items)
		var few []checkpoint.DeadLetter
		for i := range items {
			if c.means(&items[i]) {
				few = append(few, items[i])
			}
		}
		n := do(few)
		if dealt += n; n < len(few) {
			if n > 0 {
				q.After = few[n-1].ID
			}
			break
		}
		if more == "" {
			return "", nil
		}
		q.After = items[len(items)-1].ID
	}
	return q.After + spanMark + q.UpTo, nil
}

// spanMark stands between the last letter that was dealt with and the last that is meant: what fails again in
// between is a letter behind that.
const spanMark = ".."

func (d *Desk) span(ctx context.Context, cursor string) (after, upTo string, err error) {
	if cursor != "" {
		after, upTo, ok := strings.Cut(cursor, spanMark)
		if !ok || upTo == "" {
			return "", "", told.BadCursor()
		}
		return after, upTo, nil
	}
	newest, err := d.pile().newest(ctx)
	if err != nil {
		return "", "", fmt.Errorf("read the store: %w", err)
	}
	return "", bound(newest), nil
}

// named gives letters by their ids; of one that is not there it gives the id alone.
func (d *Desk) named(ctx context.Context, ids []string, do func(few []checkpoint.DeadLetter) int) error {
	for len(ids) > 0 {
		var few []checkpoint.DeadLetter
		for _, letter := range ids[:min(lettersAtOnce, len(ids))] {
			l, err := d.pile().one(ctx, letter)
			if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
				return fmt.Errorf("read the store: %w", err)
			}
			l.ID = letter
			few = append(few, l)
		}
		ids = ids[len(few):]
		if do(few) < len(few) {
			return nil
		}
	}
	return nil
}

// checkLetters refuses a request that does not say which letters it means.
func checkLetters(req *api.LettersRequest) error {
	filtered := req.LetterChoice != api.LetterChoice{}
	wrong := ""
	switch {
	case len(req.IDs) > 0 && (req.All || filtered || req.After != ""):
		wrong = "ids name the letters: leave the rest out"
	case len(req.IDs) == 0 && !req.All && !filtered:
		wrong = "say which dead letters are meant: ids, a filter such as code or where, or all"
	case req.Limit < 0 || req.Limit > mostLetters || len(req.IDs) > mostLetters:
		wrong = fmt.Sprintf("one request deals with %d letters at most", mostLetters)
	}
	if wrong != "" {
		return &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeInvalidBody, Detail: wrong}
	}
	if req.Limit == 0 {
		req.Limit = standardLetters
	}
	return nil
}
