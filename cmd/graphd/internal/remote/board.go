package remote

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/client"
)

const (
	// boardRows is how many outputs and keys are shown; those that were quiet the longest leave.
	boardRows = 30
	// boardEvery is how often the table is drawn at maxRecent: a person reads no faster.
	boardEvery = 200 * time.Millisecond
	// boardFrames is how many frames may wait while a table is drawn.
	boardFrames = 1024
	// boardWidth is how wide the table is where the terminal does not say.
	boardWidth = 120
)

// board is the live table of a tail: what each output said last, and how often.
type board struct {
	named  bool // rows say of which graph they are
	health map[string]string
	rows   map[boardKey]*boardRow
	gaps   int64 // frames that were missed
	note   string
	drawn  int // lines on the screen
}

type boardKey struct{ graph, output, key string }

type boardRow struct {
	boardKey
	epoch  int64
	value  string
	count  int64
	at     time.Time
	recent []time.Time // of the last seconds, for the rate
}

func newBoard(named bool) *board {
	return &board{named: named, health: make(map[string]string), rows: make(map[boardKey]*boardRow)}
}

// add counts a frame in.
func (b *board) add(a *Verbs, f *api.Frame, now time.Time) {
	switch f.Type {
	case "output":
		k := boardKey{f.Graph, f.Output, ""}
		if len(f.Key) > 0 && string(f.Key) != "null" {
			k.key = string(f.Key)
		}
		b.say(k, f.Epoch, terminal.Value(f.Value, detailWidth), now)
	case "firing":
		if f.Firing != nil && !f.Firing.OK {
			b.say(boardKey{f.Graph, "failed epochs", ""}, f.Firing.Epoch, a.outputsText(f.Firing), now)
		}
	case "health":
		b.health[f.Graph] = strings.TrimSuffix(f.Health+", "+reasonText(f.Reason), ", -")
	case "gap":
		b.gaps += f.To - f.From + 1
	}
}

func (b *board) say(k boardKey, epoch int64, value string, now time.Time) {
	r := b.rows[k]
	if r == nil {
		b.makeRoom()
		r = &boardRow{boardKey: k}
		b.rows[k] = r
	}
	r.epoch, r.value, r.at = epoch, value, now
	r.count++
	const maxRecent = 4096 // what is faster has a rate of at least so many
	if r.recent = append(r.recent, now); len(r.recent) > maxRecent {
		r.recent = r.recent[len(r.recent)-maxRecent:]
	}
}

func (b *board) makeRoom() {
	if len(b.rows) < boardRows {
		return
	}
	var oldest *boardRow
	for _, r := range b.rows {
		if oldest == nil || r.at.Before(oldest.at) {
			oldest = r
		}
	}
	delete(b.rows, oldest.boardKey)
}

// rate is how many values came in the last five seconds, a second.
func (r *boardRow) rate(now time.Time) float64 {
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
func (b *board) lines(a *Verbs, now time.Time) ([]string, error) {
	head := []string{"OUTPUT", "KEY", "EPOCH", "COUNT", "A SECOND", "LAST", "VALUE"}
	if b.named {
		head = append([]string{"GRAPH"}, head...)
	}
	n := len(head) - 7
	t := terminal.NewTable(head...).Numbers(n+2, n+3, n+4)
	rows := make([]*boardRow, 0, len(b.rows))
	for _, r := range b.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(x, y *boardRow) int {
		return slices.Compare([]string{x.graph, x.output, x.key}, []string{y.graph, y.output, y.key})
	})
	for _, r := range rows {
		cells := []string{r.output, terminal.Or(r.key, "-"), terminal.Number(r.epoch), terminal.Number(r.count),
			strconv.FormatFloat(r.rate(now), 'f', 1, 64), a.Ago(&r.at), r.value}
		if b.named {
			cells = append([]string{r.graph}, cells...)
		}
		t.Row(cells...)
	}
	var out strings.Builder
	for _, graph := range slices.Sorted(maps.Keys(b.health)) {
		fmt.Fprintf(&out, "%s\n", terminal.Clean(strings.TrimSpace(graph+" "+b.health[graph])))
	}
	if b.gaps > 0 {
		fmt.Fprintf(&out, "%s missed\n", terminal.Plural(b.gaps, "frame"))
	}
	if b.note != "" {
		fmt.Fprintf(&out, "%s\n", terminal.Clean(b.note))
	}
	if err := t.Render(&out); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
}

// draw puts the table where the last one was.
func (b *board) draw(a *Verbs) error {
	lines, err := b.lines(a, a.Now())
	if err != nil {
		return err
	}
	width := boardWidth
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 20 {
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
	_, err = a.Out.Write([]byte(out.String()))
	return err
}

// watch is tail as a live table. It ends as tail does.
func (a *Verbs) watch(ctx context.Context, c *client.Client, graph string, options client.TailOptions,
	count int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	frames, ended := make(chan *api.Frame, boardFrames), make(chan error, 1)
	lost := make(chan string, 1)
	options.Lost = func(err error, wait time.Duration) {
		select {
		case lost <- fmt.Sprintf("the connection was lost (%v); trying again in %s", err, terminal.Short(wait)):
		default:
		}
	}
	go func() { // joined by the receive from ended
		n := 0
		ended <- c.Tail(ctx, graph, options, func(f *api.Frame) error {
			select {
			case frames <- f:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if n++; n == count {
				return errEnough
			}
			return nil
		})
	}()
	b := newBoard(graph == "")
	ticker := time.NewTicker(boardEvery)
	defer ticker.Stop()
	for {
		select {
		case f := <-frames:
			b.add(a, f, a.Now())
			b.note = ""
		case b.note = <-lost:
		case <-ticker.C:
			if err := b.draw(a); err != nil {
				stop()
				return cmp.Or(err, <-ended) // the screen is what failed
			}
		case err := <-ended:
			for len(frames) > 0 {
				b.add(a, <-frames, a.Now())
			}
			if drawErr := b.draw(a); err == nil {
				err = drawErr
			}
			return err
		}
	}
}
