package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/graphd/graphd/internal/telemetry"
)

// The formats of -o.
const (
	FormatTable = "table"
	FormatJSON  = "json"
	FormatYAML  = "yaml"
	FormatWide  = "wide" // a table with more columns, nothing of it cut
)

// Terminal is where a command reads and writes. It is used by one goroutine at a time.
type Terminal struct {
	In     io.Reader
	Out    io.Writer // data
	Err    io.Writer // talk
	Getenv func(string) string
	Now    func() time.Time
	// Format is one of the formats; NoColor is --no-color.
	Format  string
	NoColor bool
	// Screen says whether somebody looks at what is written; nil asks the system.
	Screen func(io.Writer) bool
	// Soon is for how long more is waited for before what is there has to do: for other events of a push, and for the
	// names that a daemon knows when somebody presses Tab.
	Soon time.Duration

	bar    *Bar // nil when none was made
	screen bool // Out is kept back for a screen
}

// New makes a terminal of the streams of a process.
func New(in io.Reader, out, errs io.Writer, getenv func(string) string) *Terminal {
	return &Terminal{In: in, Out: out, Err: errs, Getenv: getenv, Now: time.Now, Format: FormatTable, Soon: time.Second}
}

// CheckFormat refuses an unknown Format, before anything is done.
func (t *Terminal) CheckFormat() error {
	switch t.Format {
	case FormatTable, FormatWide, FormatJSON, FormatYAML:
		return nil
	}
	given := t.Format
	t.Format = FormatTable // of the answer to that
	return Exit(ExitUsage, fmt.Errorf("-o %s: it must be table, wide, json or yaml", given))
}

// Wide reports whether tables are to show all they can.
func (t *Terminal) Wide() bool { return t.Format == FormatWide }

// Clip shortens s to width runes for a person who looks at a screen; in pipes and files, and where
// wide tables are asked for, everything stays.
func (t *Terminal) Clip(s string, width int) string {
	if t.Wide() || !t.screen && !t.IsScreen(t.Out) {
		return s
	}
	return Clip(s, width)
}

// Value prints raw JSON, in at most width runes as Clip does.
func (t *Terminal) Value(raw json.RawMessage, width int) string {
	return t.Clip(Value(raw, math.MaxInt), width)
}

// Color reports whether standard output is for a person who likes colours.
func (t *Terminal) Color() bool {
	return !t.NoColor && t.Getenv("NO_COLOR") == "" && t.Getenv("TERM") != "dumb" && (t.screen || t.IsScreen(t.Out))
}

// Hold is what do prints, as it would be printed now.
func (t *Terminal) Hold(do func() error) ([]byte, error) {
	var held bytes.Buffer
	out, screen := t.Out, t.screen
	t.screen, t.Out = t.IsScreen(out), &held
	defer func() { t.Out, t.screen = out, screen }()
	err := do()
	return held.Bytes(), err
}

// IsScreen reports whether somebody looks at what is written to w.
func (t *Terminal) IsScreen(w io.Writer) bool {
	if t.Screen != nil {
		return t.Screen(w)
	}
	return telemetry.IsTerminal(w)
}

// Say prints a line of talk.
func (t *Terminal) Say(format string, args ...any) {
	if t.bar != nil {
		t.bar.Clear()
	}
	// Nobody can be told that standard error does not work.
	_, _ = fmt.Fprintln(t.Err, Clean(fmt.Sprintf(format, args...)))
}

// Print writes data in the format asked for; table does it when that is a table.
func (t *Terminal) Print(data any, table func() error) error {
	if t.Format == FormatTable || t.Wide() {
		return table()
	}
	text, err := Encode(data, t.Format)
	if err != nil {
		return err
	}
	if t.Format == FormatJSON {
		_, err = t.Out.Write(text)
		return err
	}
	return t.Document(text)
}

// Document prints a text that others have written, byte for byte, but for a person who looks at it.
func (t *Terminal) Document(text []byte) error {
	if t.screen || t.IsScreen(t.Out) {
		text = cleanLines(text)
	}
	_, err := t.Out.Write(text)
	return err
}

// Line prints a line of data for people.
func (t *Terminal) Line(format string, args ...any) error {
	_, err := fmt.Fprintln(t.Out, Clean(fmt.Sprintf(format, args...)))
	return err
}

// Table prints a table.
func (t *Terminal) Table(table *Table) error { return table.write(t.Out, t.Color()) }

// TalkTable prints a table as talk.
func (t *Terminal) TalkTable(table *Table) {
	if t.bar != nil {
		t.bar.Clear()
	}
	_ = table.write(t.Err, false) // as with Say
}

// Section prints a table that has rows, after an empty line.
func (t *Terminal) Section(table *Table) error {
	if len(table.rows) == 0 {
		return nil
	}
	if _, err := io.WriteString(t.Out, "\n"); err != nil {
		return err
	}
	return t.Table(table)
}

// Ago says how long before now at was.
func (t *Terminal) Ago(at *time.Time) string {
	if at == nil || at.IsZero() {
		return "-"
	}
	d := t.Now().Sub(*at)
	if d < time.Second { // also when the daemon's clock is ahead
		return "now"
	}
	return Short(d) + " ago"
}

// Open opens a file to read, or standard input for "-". The caller closes it.
func (t *Terminal) Open(path string) (io.ReadCloser, error) {
	if path == "-" {
		if f, ok := t.In.(*os.File); ok && telemetry.IsTerminal(f) {
			t.Say("reading from the terminal; end with Ctrl-D")
		}
		return io.NopCloser(t.In), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Missing(err)
	}
	return f, nil
}

// ReadFile reads all of a file, or of standard input for "-", of at most limit bytes.
func (t *Terminal) ReadFile(path string, limit int64) (data []byte, err error) {
	in, err := t.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	data, err = io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, Exit(ExitFormat, fmt.Errorf("%s is larger than %d bytes", path, limit))
	}
	return data, nil
}
