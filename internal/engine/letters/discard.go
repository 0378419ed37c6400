package letters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

func notFound(id string) error {
	return &api.Error{
		Status: http.StatusNotFound, Code: "dead_letter_not_found",
		Detail: fmt.Sprintf("there is no dead letter %q; it may have been discarded, replayed or have expired", id),
	}
}

func (d *Desk) letter(ctx context.Context, id string) (checkpoint.DeadLetter, error) {
	if err := d.Graph.FlushLetters(ctx); err != nil {
		return checkpoint.DeadLetter{}, err
	}
	l, err := d.pile().one(ctx, id)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return l, notFound(id)
	}
	return l, err
}

// DiscardOne removes a letter for good.
func (d *Desk) DiscardOne(ctx context.Context, id string) error {
	l, err := d.letter(ctx, id)
	if err != nil {
		return err
	}
	n, err := d.pile().discard(ctx, []checkpoint.DeadLetter{l})
	if err != nil {
		return fmt.Errorf("discard the letter: %w", err)
	}
	if n == 0 {
		return notFound(id)
	}
	return nil
}

// Discard removes letters for good, those of a request.
func (d *Desk) Discard(ctx context.Context, req api.LettersRequest) (api.LettersResult, error) {
	res := api.LettersResult{Reasons: []api.LetterReason{}}
	if req.Preview { // whoever asks for one wants nothing removed
		return res, &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeInvalidBody,
			Detail: "preview is of a replay, and a discard removes letters for good: list shows what it would remove"}
	}
	c, err := d.meant(ctx, &req)
	if err != nil {
		return res, err
	}
	var failure error
	res.Next, err = d.each(ctx, &req, c, func(few []checkpoint.DeadLetter) int {
		var there []checkpoint.DeadLetter
		for i := range few {
			if few[i].Stage == "" {
				gone := refusal(notFound(few[i].ID))
				tell(&res, few[i].ID, &gone)
				continue
			}
			there = append(there, few[i])
		}
		n, err := d.pile().discard(ctx, there)
		if res.Discarded += int(n); err != nil {
			failure = fmt.Errorf("discard the letters: %w", err)
			return 0
		}
		res.Letters += len(there)
		return len(few)
	})
	res.Undecided = c.undecided
	if err = errors.Join(failure, err); err == nil && res.Letters == 0 && req.After == "" {
		res.Note, err = d.missed(ctx, c)
	}
	return res, err
}

// meant is which letters a request is about; they are in the store by then.
func (d *Desk) meant(ctx context.Context, req *api.LettersRequest) (*choice, error) {
	if err := checkLetters(req); err != nil {
		return nil, err
	}
	c, err := chosen(d.Graph.Graph, &req.LetterChoice, time.Now())
	if err != nil {
		return nil, err
	}
	if req.After == "" {
		err = d.Graph.FlushLetters(ctx)
	}
	return c, err
}
