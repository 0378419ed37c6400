package client

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
)

// sent is a call of the client and the request that it sends.
type sent struct {
	operation, want string
	call            func() error
}

func tokenCalls(ctx context.Context, c *Client) []sent {
	only := func(_ any, err error) error { return err }
	return []sent{
		{"listTokens", "GET /v1/tokens", func() error { return only(c.Tokens(ctx)) }},
		{"createToken", `POST /v1/tokens Content-Type:application/json {"name":"ci","role":"author","tenant":null,` +
			`"graphs":null,"read_only":false,"expires_in_seconds":null}`, func() error {
			return only(c.CreateToken(ctx, api.TokenRequest{Name: "ci", Role: "author"}))
		}},
		{"revokeToken", "DELETE /v1/tokens/abc", func() error { return c.RevokeToken(ctx, "abc") }},
		{"audit", "GET /v1/audit?after=3&chain=%2A&subject=ci", func() error {
			q := audit.Query{Tenant: audit.Daemon, After: 3, Subject: "ci"}
			return c.Audit(ctx, q, func(*audit.Row) error { return nil })
		}},
		{"auditChains", "GET /v1/audit/chains", func() error { return only(c.AuditChains(ctx)) }},
		{"whoAmI", "GET /v1/whoami", func() error { return only(c.WhoAmI(ctx)) }},
		{"createTicket", "POST /v1/ws-tickets", func() error { return only(c.Ticket(ctx)) }},
	}
}

// TestToken: a token goes with every request, over REST and with a socket.
func TestToken(t *testing.T) {
	t.Parallel()
	var seen []string
	c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":"invalid_token","detail":"no"}`)
	}), "")
	c.token = "gd_x"
	_, _ = c.Graphs(t.Context())
	_, _ = c.Backup(t.Context(), io.Discard)
	_, _ = c.Watch(t.Context(), "", []string{"health"}, "")
	want := []string{"GET /v1/graphs Bearer gd_x", "POST /v1/backup Bearer gd_x", "GET /v1/ws/events Bearer gd_x"}
	for i := range want {
		if len(seen) != len(want) || seen[i] != want[i] {
			t.Fatalf("got %q, want %q", seen, want)
		}
	}
}
