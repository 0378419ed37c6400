package control

import (
	"context"
	"fmt"

	"github.com/graphd/graphd/internal/api"
)

func (a *audited) ReplayDeadLetters(ctx context.Context, g api.Ref, req api.LettersRequest) (api.LettersResult, error) {
	if req.Preview {
		return a.Control.ReplayDeadLetters(ctx, g, req)
	}
	return do(ctx, a, "replay", g, chosen(&req), func(ctx context.Context) (api.LettersResult, error) {
		return a.Control.ReplayDeadLetters(ctx, g, req)
	}, dealtWith)
}

func (a *audited) DiscardDeadLetters(ctx context.Context, g api.Ref, req api.LettersRequest) (
	api.LettersResult, error) {
	return do(ctx, a, "discard", g, chosen(&req), func(ctx context.Context) (api.LettersResult, error) {
		return a.Control.DiscardDeadLetters(ctx, g, req)
	}, dealtWith)
}

func (a *audited) ReplayDeadLetter(ctx context.Context, g api.Ref, id string) (api.PushResult, error) {
	return do(ctx, a, "replay", g, []string{"letter " + id}, func(ctx context.Context) (api.PushResult, error) {
		return a.Control.ReplayDeadLetter(ctx, g, id)
	}, nil)
}

func (a *audited) DiscardDeadLetter(ctx context.Context, g api.Ref, id string) error {
	return a.plain(ctx, "discard", g, []string{"letter " + id}, func(ctx context.Context) error {
		return a.Control.DiscardDeadLetter(ctx, g, id)
	})
}

// chosen tells which letters are meant.
func chosen(req *api.LettersRequest) (detail []string) {
	for _, id := range req.IDs {
		detail = append(detail, "letter "+id)
	}
	if req.All {
		detail = append(detail, "all")
	}
	c := &req.LetterChoice
	for _, by := range [...]struct{ name, text string }{{"key", c.Key}, {"code", c.Code}, {"stage", c.Stage},
		{"accumulator", c.Accumulator}, {"output", c.Output}, {"since", c.Since}, {"until", c.Until},
		{"where", c.Where}} {
		if by.text != "" {
			detail = append(detail, by.name+" "+by.text)
		}
	}
	return detail
}

func dealtWith(res api.LettersResult) []string {
	return []string{fmt.Sprintf("%d letters, %d passed, %d discarded", res.Letters, res.Passed, res.Discarded)}
}
