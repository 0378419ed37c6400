// Package board is the live table of a tail: what each output said last, how often and how fast,
// drawn again where it stood before.
package board

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

const (
	// maxRows is how many outputs and keys are shown; those that were quiet the longest leave.
	maxRows = 30
	// standardWidth is how wide the table is where the terminal does not say.
	standardWidth = 120
)

// Board is the table. Make one with [New].
type Board struct {
	named  bool // rows say of which graph they are
	health map[string]string
	rows   map[place]*row
	gaps   int64 // frames that were missed
	left   int64 // epochs that a sample has left out
	note   string
	drawn  int // lines on the screen
}

type place struct{ graph, output, key string }

type row struct {
	place
	epoch  int64
	value  string
	count  int64
	at     time.Time
	recent []time.Time // of the last seconds, for the rate
}

// New makes a table with nothing in it. named says that rows have to say of which graph they are.
func New(named bool) *Board {
	return &Board{named: named, health: make(map[string]string), rows: make(map[place]*row)}
}

// Health says how a graph is.
func (b *Board) Health(graph, health string) { b.health[graph] = health }

// Gone takes a graph out that is not there any more.
func (b *Board) Gone(graph string) { delete(b.health, graph) }

// Missed counts frames that were missed.
func (b *Board) Missed(frames int64) { b.gaps += frames }

// LeftOut counts epochs that a sample has left out: they are in no row.
func (b *Board) LeftOut(epochs int64) { b.left += epochs }

// Note puts a line above the table, or "" none.
func (b *Board) Note(text string) { b.note = text }

// Say counts in what an output said.
func (b *Board) Say(graph, output, key string, epoch int64, value string, now time.Time) {
	at := place{graph, output, key}
	r := b.rows[at]
	if r == nil {
		b.makeRoom()
		r = &row{place: at}
		b.rows[at] = r
	}
	r.epoch, r.value, r.at = epoch, value, now
	r.count++
	const maxRecent = 4096 // what is faster has a rate of at least so many
	if r.recent = append(r.recent, now); len(r.recent) > maxRecent {
		r.recent = r.recent[len(r.recent)-maxRecent:]
	}
}

func (b *Board) makeRoom() {
	if len(b.rows) < maxRows {
		return
	}
	var oldest *row
	for _, r := range b.rows {
		if oldest == nil || r.at.Before(oldest.at) {
			oldest = r
		}
	}
	delete(b.rows, oldest.place)
}

// rate is how many values came in the last five seconds, a second.
func (r *row) rate(now time.Time) float64 {
	const span = 5 * time.Second
	i := 0
	for i < len(r.recent) && now.Sub(r.recent[i]) > span {
		i++
	}
	r.recent = r.recent[i:]
	over := span
	if int64(len(r.recent)) == r.count && r.count > 0 { // it has not been watched for so long yet
		over = min(span, max(time.Second, now.Sub(r.recent[0])))
	}
	return float64(len(r.recent)) / over.Seconds()
}

// lines is the table as it is to be shown.
func (b *Board) lines(t *terminal.Terminal, now time.Time) ([]string, error) {
	head := []string{"OUTPUT", "KEY", "EPOCH", "COUNT", "A SECOND", "LAST", "VALUE"}
	if b.named {
		head = append([]string{"GRAPH"}, head...)
	}
	n := len(head) - 7
	table := terminal.NewTable(head...).Numbers(n+2, n+3, n+4)
	rows := make([]*row, 0, len(b.rows))
	for _, r := range b.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(x, y *row) int {
		return slices.Compare([]string{x.graph, x.output, x.key}, []string{y.graph, y.output, y.key})
	})
	for _, r := range rows {
		cells := []string{r.output, terminal.Or(r.key, "-"), terminal.Number(r.epoch), terminal.Number(r.count),
			strconv.FormatFloat(r.rate(now), 'f', 1, 64), t.Ago(&r.at), r.value}
		if b.named {
			cells = append([]string{r.graph}, cells...)
		}
		table.Row(cells...)
	}
	var out strings.Builder
	for _, graph := range slices.Sorted(maps.Keys(b.health)) {
		fmt.Fprintf(&out, "%s\n", terminal.Clean(strings.TrimSpace(graph+" "+b.health[graph])))
	}
	if b.gaps > 0 {
		fmt.Fprintf(&out, "%s missed\n", terminal.Plural(b.gaps, "frame"))
	}
	if b.left > 0 {
		fmt.Fprintf(&out, "%s left out, which no row counts\n", terminal.Plural(b.left, "epoch"))
	}
	if b.note != "" {
		fmt.Fprintf(&out, "%s\n", terminal.Clean(b.note))
	}
	if err := table.Render(&out); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
}

// Draw puts the table where the last one was.
func (b *Board) Draw(t *terminal.Terminal) error {
	lines, err := b.lines(t, t.Now())
	if err != nil {
		return err
	}
	width := standardWidth
	if n, err := strconv.Atoi(t.Getenv("COLUMNS")); err == nil && n > 20 {
		width = n
	}
	var out strings.Builder
	if b.drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", b.drawn)
	}
	out.WriteString("\x1b[J") // what was below goes
	for _, line := range lines {
		if utf8.RuneCountInString(line) > width { // a line that wraps would be two
			line = string([]rune(line)[:width-1]) + "…"
		}
		out.WriteString(line + "\n")
	}
	b.drawn = len(lines)
	_, err = t.Out.Write([]byte(out.String()))
	return err
}
