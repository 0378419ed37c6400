package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// What is guessed works: an address without a scheme, and --version.
func TestGuesses(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	address := strings.TrimPrefix(server.URL, "http://")
	if r := command(t.Context(), server, "", "get", "market_maker", "--server", address); r.code != 0 {
		t.Errorf("host:port: %+v", r)
	}
	if r := command(t.Context(), server, "", "--version"); r.code != 0 || r.stdout != buildVersion().String()+"\n" {
		t.Errorf("--version: %+v", r)
	}
}

// On a screen a long value is cut, in a pipe and with -o wide it is not.
func TestCuts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		screen bool
		format string
		cut    bool
	}{{true, terminal.FormatTable, true}, {true, terminal.FormatWide, false}, {false, terminal.FormatTable, false}} {
		term := &terminal.Terminal{Format: c.format, Screen: func(io.Writer) bool { return c.screen }}
		if got := term.Clip(long, 60); (len(got) < 300) != c.cut {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A watch shows what is new, on a screen in the place of what was, and ends with its context.
func TestWatch(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, screen := range []bool{false, true} {
		out, in := io.Pipe()
		var errs bytes.Buffer
		term := terminal.New(strings.NewReader(""), in, &errs, func(string) string { return "" })
		term.Screen = func(w io.Writer) bool { return screen && w == in }
		ctx, cancel := context.WithCancel(ctx)
		exit := make(chan int, 1)
		go func() {
			exit <- run(ctx, term, []string{"health", "--watch", "--no-color", "--server", server.URL})
			_ = in.Close() // a pipe's Close never fails
		}()
		first := make([]byte, 64)
		n, err := out.Read(first)
		cancel()
		rest, restErr := io.ReadAll(out)
		want := map[bool]string{false: "ready\n", true: "\x1b[H\x1b[2Jready\n"}[screen]
		if got := string(first[:n]) + string(rest); err != nil || restErr != nil || !strings.HasPrefix(got, want) {
			t.Errorf("screen %v: got %q, %v, %v, want %q", screen, got, err, restErr, want)
		}
		if code := <-exit; code != 0 {
			t.Errorf("screen %v: exit %d: %s", screen, code, errs.String())
		}
	}
	if r := command(t.Context(), server, "", "get", "zzz", "--watch"); r.code != terminal.ExitNotFound {
		t.Errorf("what is not there is not waited for: %+v", r)
	}
}

// Tab completes what the daemon knows: graphs, their parts, dead letters; and words that are few.
func TestCompletion(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get", ""}, "flights\nmarket_maker\n:4\n"},
		{[]string{"get", "market_maker", ""}, ":4\n"},
		{[]string{"push", "market_maker", ""}, "orderbook\n"},
		{[]string{"push", "market_maker", "orderbook", ""}, ":0\n"},
		{[]string{"stop", "market_maker", ""}, "signals\n"},
		{[]string{"dead-letters", "market_maker", ""}, "list\nreplay\ndiscard\nexport\n:4\n"},
		{[]string{"dead-letters", "market_maker", "replay", ""}, "dl1\n"},
		{[]string{"delete", "market_maker", "--state", ""}, "keep\ndelete\n:4\n"},
		{[]string{"tail", "--topics", ""}, "outputs\nfirings\nhealth\nstate\nsummary\n:4\n"},
		{[]string{"get", "-o", ""}, "table\nwide\njson\nyaml\n:4\n"},
		{[]string{"explain", "unknown_f"}, "unknown_field\nunknown_function\n:4\n"},
		{[]string{"get", "--server", "127.0.0.1:1", ""}, ":4\n"},
	} {
		r := command(t.Context(), server, "", append([]string{"__complete"}, c.args...)...)
		if r.code != 0 || !strings.Contains("\n"+r.stdout, "\n"+c.want) {
			t.Errorf("%q: got %q, want %q", c.args, r.stdout, c.want)
		}
	}
}
