package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/graphd/graphd/internal/api"
)

// DeadLetters lists what could not be used, newest first.
func (c *Client) DeadLetters(ctx context.Context, name string, q api.LetterQuery) (api.LetterPage, error) {
	v := url.Values{}
	for _, p := range [...]struct{ name, value string }{
		{"before", q.Before}, {"key", q.Key}, {"code", q.Code}, {"stage", q.Stage}, {"accumulator", q.Accumulator},
		{"output", q.Output}, {"since", q.Since}, {"until", q.Until}, {"where", q.Where},
	} {
		if p.value != "" {
			v.Set(p.name, p.value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return call[api.LetterPage](ctx, c, request{
		method: http.MethodGet, path: graph(name, "dead-letters"), query: v,
	})
}

// ReplayDeadLetters replays the letters of a request, or previews that.
func (c *Client) ReplayDeadLetters(ctx context.Context, name string, req api.LettersRequest) (
	api.LettersResult, error) {
	return post[api.LettersResult](ctx, c, graph(name, "dead-letters", "replay"), req)
}

// DiscardDeadLetters removes the letters of a request for good.
func (c *Client) DiscardDeadLetters(ctx context.Context, name string, req api.LettersRequest) (
	api.LettersResult, error) {
	return post[api.LettersResult](ctx, c, graph(name, "dead-letters", "discard"), req)
}

// ReplayDeadLetter replays one letter.
func (c *Client) ReplayDeadLetter(ctx context.Context, name, id string) (api.PushResult, error) {
	return call[api.PushResult](ctx, c, request{
		method: http.MethodPost, path: graph(name, "dead-letters", id, "replay"),
	})
}

// DiscardDeadLetter removes a letter for good.
func (c *Client) DiscardDeadLetter(ctx context.Context, name, id string) error {
	_, err := call[any](ctx, c, request{method: http.MethodDelete, path: graph(name, "dead-letters", id)})
	return err
}
