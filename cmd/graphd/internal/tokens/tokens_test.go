package tokens

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// TestExpires: the life that is asked for is what the daemon is asked for, also one of nothing, which it refuses.
func TestExpires(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int64{"": -1, "0s": 0, "500ms": 0, "1h": 3600} {
		asked := int64(-1)
		daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var q api.TokenRequest
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			if q.ExpiresInSeconds != nil {
				asked = *q.ExpiresInSeconds
			}
			_, _ = io.WriteString(w, "{}")
		}))
		c, err := client.New(client.Config{BaseURL: daemon.URL})
		if err != nil {
			t.Fatal(err)
		}
		verb := func(use, _, _ string, check cobra.PositionalArgs, run func(ctx context.Context, c *client.Client,
			args []string) error) *cobra.Command {
			return &cobra.Command{Use: use, Args: check, RunE: func(cmd *cobra.Command, args []string) error {
				return run(cmd.Context(), c, args)
			}}
		}
		cmd := Command(&terminal.Terminal{Out: io.Discard, Err: io.Discard}, verb, &cobra.Command{Use: "bootstrap"})
		args := []string{"create", "x", "--role", "viewer"}
		if given != "" {
			args = append(args, "--expires", given)
		}
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err != nil || asked != want {
			t.Errorf("%s: %d seconds are asked for, %v", strings.Join(args, " "), asked, err)
		}
		daemon.Close()
	}
}
