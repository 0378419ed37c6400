package remote

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/board"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// A live table shows what frames say: values by output and key, failed epochs, health, what was missed or left out.
func TestFramesOfABoard(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	term := terminal.New(strings.NewReader(""), &screen, &screen, func(string) string { return "" })
	term.Now = func() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }
	a, b := &Verbs{Terminal: term}, board.New(false)
	for _, f := range []*api.Frame{
		{Type: "output", Graph: "g", Output: "signals", Epoch: 7, Value: json.RawMessage(`{"bid":1}`),
			Key: json.RawMessage("null")},
		{Type: "output", Graph: "g", Output: "by_key", Key: json.RawMessage(`"AAPL"`), Epoch: 8,
			Value: json.RawMessage("2")},
		{Type: "firing", Graph: "g", LeftOut: 5, Firing: &api.Firing{Epoch: 9, OK: true}},
		{Type: "firing", Graph: "g", Firing: &api.Firing{Epoch: 10, Error: new("node n: no")}},
		{Type: "health", Graph: "g", Health: "degraded", Reason: &api.Reason{Code: "x", Detail: "y"}},
		{Type: "gap", From: 4, To: 9},
		{Type: "summary", Graph: "a", Row: &api.GraphRow{Graph: "a", Health: "live", Epoch: 3}},
		{Type: "summary", Graph: "gone", Row: &api.GraphRow{Graph: "gone", Health: "live"}},
		{Type: "summary", Graph: "gone", Removed: true},
		{Type: "summary", List: &api.ListTold{Graphs: 1}},
	} {
		a.add(b, f)
	}
	if err := b.Draw(term); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(screen.String()), " ")
	for _, want := range []string{
		"a live #3 0.0 epochs/s 0 received, 0 queued g degraded, x: y 6 frames missed " +
			"5 epochs left out, which no row counts",
		"signals - 7 1", `by_key "AAPL" 8 1`, "failed epochs - 10 1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table does not show %q:\n%s", want, screen.String())
		}
	}
	if strings.Contains(text, "gone") {
		t.Errorf("the table shows a graph that is not there:\n%s", screen.String())
	}
}

// A line says how many epochs a sample has left out before it, and one behind none says nothing of that.
func TestLineOfWhatASampleLeavesOut(t *testing.T) {
	t.Parallel()
	for left, want := range map[int64]string{
		0: "#3  o  7\n", 1: "#3  o  7  (behind 1 epoch left out)\n", 240: "#3  o  7  (behind 240 epochs left out)\n",
	} {
		var out bytes.Buffer
		a := &Verbs{Terminal: terminal.New(strings.NewReader(""), &out, &out, func(string) string { return "" })}
		f := &api.Frame{Type: "output", Output: "o", Epoch: 3, Value: json.RawMessage("7"), LeftOut: left}
		if err := a.frame(f, false); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%d left out: got %q, want %q", left, out.String(), want)
		}
	}
}
