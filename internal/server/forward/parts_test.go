package forward

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

// M53: what a member asks of the shards of another arrives as it was asked, and its answer with all that is in it; who
// does not know the secret asks nothing.
func TestM53CallsForShards(t *testing.T) {
	t.Parallel()
	b, at := member(t, "b", secret, http.NotFoundHandler())
	b.daemon.(*daemon).ask = func(_ context.Context, call *parts.Call) *parts.Answer {
		text, err := json.Marshal(call)
		if err != nil {
			t.Error(err)
		}
		return &parts.Answer{Value: text, Shards: []api.GraphSummary{{Graph: call.Graph, Epoch: 7}, {}},
			Refusal: &parts.Refusal{Status: 409, Code: "not_paused", Detail: "pause it",
				Rows: []api.ShardResult{{Shard: 3, Done: true}}}}
	}
	a, _ := member(t, "a", secret, http.NotFoundHandler())
	call := &parts.Call{Tenant: "acme", Graph: "g", Of: 8, Shards: []int{3, 5}, Verb: "step", Args: []byte(`{"n":2}`)}
	got, begun, err := a.Ask(t.Context(), at, call)
	if err != nil || !begun {
		t.Fatal(begun, err)
	}
	heard := new(parts.Call)
	if err := json.Unmarshal(got.Value, heard); err != nil || heard.Graph != "g" || heard.Of != 8 ||
		heard.Verb != "step" ||
		string(heard.Args) != `{"n":2}` || len(heard.Shards) != 2 || heard.Shards[1] != 5 {
		t.Errorf("%+v, %v", heard, err)
	}
	if len(got.Shards) != 2 || got.Shards[0].Epoch != 7 || got.Refusal.Code != "not_paused" ||
		!got.Refusal.Rows[0].Done {
		t.Errorf("%+v, %+v", got, got.Refusal)
	}

	stranger, _ := member(t, "c", strings.Repeat("another1", 4), http.NotFoundHandler())
	if _, begun, err := stranger.Ask(t.Context(), at, call); err == nil || begun {
		t.Errorf("a stranger is answered: %v, %v", begun, err)
	}
	gone := &checkpoint.Member{ID: "d", Peer: "127.0.0.1:1"}
	if _, begun, err := a.Ask(t.Context(), gone, call); err == nil || begun {
		t.Errorf("nobody listens there: %v, %v", begun, err)
	}
}

// M53: a member that does not answer in the caller's time may have heard.
func TestM53CallThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	b, at := member(t, "b", secret, http.NotFoundHandler())
	heard := make(chan struct{})
	b.daemon.(*daemon).ask = func(ctx context.Context, _ *parts.Call) *parts.Answer {
		close(heard)
		<-ctx.Done()
		return &parts.Answer{}
	}
	a, _ := member(t, "a", secret, http.NotFoundHandler())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { // ends with the test's server
		<-heard
		cancel()
	}()
	if _, begun, err := a.Ask(ctx, at, &parts.Call{Verb: "step"}); err == nil || !begun {
		t.Errorf("%v, %v", begun, err)
	}
}

// What is no call is refused, with a body that says so.
func TestM53WhatIsNoCall(t *testing.T) {
	t.Parallel()
	_, at := member(t, "b", secret, http.NotFoundHandler())
	a, _ := member(t, "a", secret, http.NotFoundHandler())
	for _, body := range []string{"", "{", "[]"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+at.Peer+partsPath,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := a.to(at).via.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if answer.Body.Close(); err != nil || answer.StatusCode != http.StatusBadRequest ||
			!strings.Contains(string(text), "no call") {
			t.Errorf("%q: %s %s, %v", body, answer.Status, text, err)
		}
	}
}

// lines are frames that end with an error.
type lines struct{ left []*api.Frame }

func (l *lines) Next(ctx context.Context) (*api.Frame, error) {
	if len(l.left) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f := l.left[0]
	l.left = l.left[1:]
	return f, nil
}

func (*lines) Close() {}

// M53: a subscription to another member begins with its answer, gives each frame as it was, and ends with the context
// or with the member.
func TestM53SubscriptionToAnotherMember(t *testing.T) {
	t.Parallel()
	b, at := member(t, "b", secret, http.NotFoundHandler())
	d := b.daemon.(*daemon)
	d.ask = func(context.Context, *parts.Call) *parts.Answer { return &parts.Answer{Value: []byte(`"3/2:7"`)} }
	frame := &api.Frame{Type: "output", Graph: "g", Shard: 3, Seq: 8, Incarnation: 2, Output: "o", Epoch: 4,
		Key: []byte(`"k"`), Value: []byte(`[1,2]`)}
	d.frames = &lines{left: []*api.Frame{frame, {Type: "gap", Shard: 3, From: 9, To: 12}}}
	a, _ := member(t, "a", secret, http.NotFoundHandler())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer, frames, err := a.Follow(ctx, at, &parts.Call{Verb: parts.WatchVerb})
	if err != nil || string(answer.Value) != `"3/2:7"` {
		t.Fatal(answer, err)
	}
	defer frames.Close()
	got, err := frames.Next(ctx)
	if err != nil || got.Shard != 3 || got.Seq != 8 || string(got.Value) != `[1,2]` || string(got.Key) != `"k"` {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = frames.Next(ctx); err != nil || got.Type != "gap" || got.To != 12 {
		t.Errorf("%+v, %v", got, err)
	}
	b.CloseSockets()
	if got, err = frames.Next(ctx); err == nil {
		t.Errorf("the member has gone, and there is %+v", got)
	}
	d.ask = func(context.Context, *parts.Call) *parts.Answer {
		return &parts.Answer{Refusal: &parts.Refusal{Status: 503, Code: api.CodeOwnerMoved}}
	}
	d.frames = nil
	answer, frames, err = a.Follow(ctx, at, &parts.Call{Verb: parts.WatchVerb})
	if err != nil || frames != nil || answer.Refusal == nil || answer.Refusal.Code != api.CodeOwnerMoved {
		t.Errorf("%+v, %v, %v", answer, frames, err)
	}
}
