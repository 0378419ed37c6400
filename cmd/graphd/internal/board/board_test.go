package board

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// The live table shows what each output and key said last, how often and how fast, what was
// missed and how the graph is; it is drawn where it stood before, and no line wraps.
func TestBoard(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var screen bytes.Buffer
	term := terminal.New(strings.NewReader(""), &screen, &screen, func(name string) string {
		if name == "COLUMNS" {
			return "60"
		}
		return ""
	})
	term.Now = func() time.Time { return now }
	b := New(false)
	for i := range 10 {
		b.Say("g", "signals", "", int64(i), fmt.Sprint(i), now)
	}
	b.Say("g", "by_key", `"AAPL"`, 10, `{"bid":1,"text":"`+strings.Repeat("x", 100)+`"}`, now)
	b.Health("g", "degraded, x: \x1b[2Jy")
	b.Missed(6)
	lines, err := b.lines(term, now)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		"g degraded, x: ", "6 frames missed", "OUTPUT", "signals   -            9      10       10.0   now    9",
		`by_key    "AAPL"      10       1        1.0`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the table does not show %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "\x1b") {
		t.Errorf("a value moves the cursor: %q", all)
	}
	for range 2 {
		if err := b.Draw(term); err != nil {
			t.Fatal(err)
		}
	}
	if up := fmt.Sprintf("\x1b[%dA\x1b[J", len(lines)); strings.Count(screen.String(), up) != 1 {
		t.Errorf("the second table is not drawn over the first: %q", screen.String())
	}
	for line := range strings.Lines(screen.String()) {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "\x1b[J"), "\x1b[5A\x1b[J")
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 60 {
			t.Errorf("a line of %d columns wraps: %q", n, line)
		}
	}
	now = now.Add(time.Minute)
	if lines, err = b.lines(term, now); err != nil || !strings.Contains(strings.Join(lines, "\n"), "0.0   1m ago") {
		t.Errorf("%v: a minute later:\n%s", err, strings.Join(lines, "\n"))
	}
	for i := range 2 * maxRows {
		b.Say("g", "by_key", fmt.Sprint(i), int64(i), "1", now.Add(time.Duration(i)))
	}
	if len(b.rows) != maxRows || b.rows[place{"g", "signals", ""}] != nil {
		t.Errorf("%d rows", len(b.rows))
	}
}
