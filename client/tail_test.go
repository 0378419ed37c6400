package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/api"
)

// TestTailBehindAnotherGraph: where the daemon does not have the place any more that a lost tail was at, and where the
// tail is of all graphs, it goes on from now, behind a gap that says so.
func TestTailBehindAnotherGraph(t *testing.T) {
	t.Parallel()
	const subscribed = `{"type":"result","id":1}`
	one := func(frame string) func(context.Context, *websocket.Conn) {
		return func(ctx context.Context, ws *websocket.Conn) {
			write(ctx, ws, subscribed, frame)
			_ = ws.Close(websocket.StatusGoingAway, "")
		}
	}
	unknown := func(ctx context.Context, ws *websocket.Conn) {
		write(ctx, ws, `{"type":"error","id":1,"code":"bad_since","detail":"x","status":422}`)
		_, _, _ = ws.Read(ctx)
	}
	for _, tt := range []struct {
		name    string
		scripts []func(context.Context, *websocket.Conn)
		got     []string
		asked   []string
	}{
		{"g", []func(context.Context, *websocket.Conn){
			one(`{"type":"output","graph":"g","seq":5,"incarnation":7}`), unknown,
			one(`{"type":"health","graph":"g","seq":0,"incarnation":0}`),
			one(`{"type":"output","graph":"g","seq":2,"incarnation":1}`),
		}, []string{"output 7:5", "gap 0:0", "health 0:0", "output 1:2"}, []string{"", "7:5", "", ""}},
		{"", []func(context.Context, *websocket.Conn){
			one(`{"type":"output","graph":"g","seq":5,"incarnation":7}`),
			one(`{"type":"output","graph":"g","seq":9,"incarnation":7}`),
		}, []string{"output 7:5", "gap 0:0", "output 7:9"}, []string{"", ""}},
	} {
		s := &streams{t: t, scripts: tt.scripts}
		var got []string
		back := 0
		err := newClient(t, s, "").Tail(t.Context(), tt.name, TailOptions{
			Topics: []string{"outputs"}, Back: func() { back++ },
			Lost: func(err error, _ time.Duration) {
				if Code(err) == "" && err != io.EOF {
					t.Errorf("lost for %v", err)
				}
			},
		}, func(f *api.Frame) error {
			got = append(got, f.Type+" "+f.Place())
			return nil
		})
		if p, ok := errors.AsType[*api.Problem](err); !ok || p.Code != "graph_not_found" {
			t.Errorf("ended with %v", err)
		}
		if d := cmp.Diff(tt.got, got); d != "" || back != len(tt.asked)-1-len(tt.got)/4 {
			t.Errorf("%q: connected again %d times, %s", tt.name, back, d)
		}
		for i, since := range tt.asked {
			if since != "" {
				since = fmt.Sprintf(`,"since":%q`, since)
			}
			if i >= len(s.asked) || !strings.HasSuffix(s.asked[i], `"topics":["outputs"]`+since+`}`) {
				t.Errorf("%q: asked %q, want since %q", tt.name, s.asked, since)
				break
			}
		}
	}
}
