package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Tone is how a cell is coloured.
type Tone string

// The tones.
const (
	Plain Tone = ""
	Good  Tone = "\x1b[32m"
	Warn  Tone = "\x1b[33m"
	Bad   Tone = "\x1b[31m"
	Dim   Tone = "\x1b[2m"

	toneEnd = "\x1b[0m"
)

// Table is rows of cells in aligned columns.
type Table struct {
	head  []string
	rows  [][]string
	right map[int]bool              // columns of numbers
	tones map[int]func(string) Tone // by column
}

// NewTable makes a table with that head; a head of empty strings is not printed.
func NewTable(head ...string) *Table {
	return &Table{head: head, right: map[int]bool{}, tones: map[int]func(string) Tone{}}
}

// Numbers aligns columns to the right.
func (t *Table) Numbers(columns ...int) *Table {
	for _, c := range columns {
		t.right[c] = true
	}
	return t
}

// Color gives a column a tone by its text.
func (t *Table) Color(column int, f func(string) Tone) *Table {
	t.tones[column] = f
	return t
}

// Row adds a row. What comes from outside is cleaned here, so that no value can move the
// cursor of the terminal it is shown on.
func (t *Table) Row(cells ...string) {
	for i := range cells {
		cells[i] = Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// Render prints the table without colours.
func (t *Table) Render(w io.Writer) error { return t.write(w, false) }

// write prints the table, its head in front when there is one.
func (t *Table) write(w io.Writer, color bool) error {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	if strings.Join(t.head, "") != "" {
		t.line(&out, t.head, widths, nil)
	}
	for _, row := range t.rows {
		var tones map[int]func(string) Tone
		if color {
			tones = t.tones
		}
		t.line(&out, row, widths, tones)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (t *Table) line(out *strings.Builder, row []string, widths []int, tones map[int]func(string) Tone) {
	const gap = "   "
	var line strings.Builder
	for i, cell := range row {
		if i > 0 {
			line.WriteString(gap)
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.right[i] {
			line.WriteString(pad)
		}
		if f := tones[i]; f != nil && f(cell) != Plain {
			cell = string(f(cell)) + cell + toneEnd
		}
		line.WriteString(cell)
		if !t.right[i] {
			line.WriteString(pad)
		}
	}
	out.WriteString(strings.TrimRight(line.String(), " "))
	out.WriteByte('\n')
}

// HealthTone colours a state by its first word.
func HealthTone(state string) Tone {
	word, _, _ := strings.Cut(state, " ")
	switch word {
	case "live", "ended", "socket_only", "running", "ok", "ran", "ready":
		return Good
	case "failed", "halted", "FAILED":
		return Bad
	case "stopped", "idle", "cut_off", "skipped", "-":
		return Dim
	}
	return Warn
}
