package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// shownLetters is how many dead letters of a run are told; --dead-letters writes all of them.
const shownLetters = 10

// runStats is the line of --stats.
type runStats struct {
	Events      int64    `json:"events"`
	Epochs      int64    `json:"epochs"`
	Failed      int64    `json:"failed_epochs"`
	Outputs     int64    `json:"outputs"`
	DeadLetters int64    `json:"dead_letters"`
	LateDropped int64    `json:"late_dropped"`
	MadeUpTime  []string `json:"made_up_time,omitempty"`
	// Inputs are the books of each input (M42).
	Inputs     map[string]graphd.RunInput `json:"inputs"`
	Letters    []graphd.RunDeadLetter     `json:"first_dead_letters,omitempty"` // with -o json
	Seconds    float64                    `json:"seconds"`
	CPUSeconds float64                    `json:"cpu_seconds"`
}

// runTeller runs a graph over files and tells what became of everything.
type runTeller struct {
	t     *terminal.Terminal
	flags *runFlags
	lines bool // outputs are printed as they come, lines of JSON

	first []graphd.RunDeadLetter
	told  int64 // dead letters in all
	all   *bufio.Writer
}

func (r *runTeller) run(ctx context.Context, d *graphd.Declaration, c graphd.RunConfig) (err error) {
	if r.flags.letters != "" {
		f, openErr := createLetters(r.flags.letters, &c)
		if openErr != nil {
			return openErr
		}
		r.all = bufio.NewWriter(f)
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	bar := r.t.Bar("event")
	c.Progress = func(p graphd.RunProgress) { bar.Show(p.Events, p.Read, p.Size) }
	c.DeadLetter = r.letter
	c.Stdout = bar.Under(c.Stdout)
	if !r.lines && r.t.Format != terminal.FormatJSON {
		c.Stdout = &lineWriter{format: r.t.Format, w: c.Stdout}
	}
	defer collectRarely(r.t)()
	began, cpu := time.Now(), cpuTime()
	s, err := runToEnd(ctx, d, c)
	bar.End()
	if err == nil && r.all != nil {
		err = r.all.Flush()
	}
	if err != nil {
		return ended(ctx, err)
	}
	var none []string
	for _, name := range d.Sides() {
		if c.Inputs[name] == "" {
			none = append(none, name)
		}
	}
	return r.tell(&s, none, time.Since(began), cpuTime()-cpu)
}

// createLetters makes the file of --dead-letters, which must be none of the run's others.
func createLetters(path string, c *graphd.RunConfig) (*os.File, error) {
	is, err := os.Stat(path)
	for _, paths := range []map[string]string{c.Inputs, c.Outputs} {
		for name, other := range paths {
			there, otherErr := os.Stat(other)
			if other == path || err == nil && otherErr == nil && os.SameFile(is, there) {
				return nil, terminal.Exit(terminal.ExitUsage,
					fmt.Errorf("--dead-letters %s: that is the file of %s; name another", path, name))
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, terminal.Exit(terminal.ExitDependency, fmt.Errorf("--dead-letters: %w", err))
	}
	return f, nil
}

// letter takes down a dead letter.
func (r *runTeller) letter(l graphd.RunDeadLetter) error {
	r.told++
	if len(r.first) < shownLetters {
		r.first = append(r.first, l)
	}
	if r.all == nil {
		return nil
	}
	line, err := json.Marshal(l)
	if err == nil {
		_, err = r.all.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("--dead-letters: %w", err)
	}
	return nil
}

// tell says what the run came to. none are the sides of joins that were given no file.
func (r *runTeller) tell(s *graphd.RunStats, none []string, took, cpu time.Duration) error {
	asJSON := !r.lines && r.t.Format == terminal.FormatJSON
	if !asJSON {
		r.tellLosses(s)
		if len(none) > 0 {
			r.t.Say("graphd: nothing has a partner in %s, of which there were no events: give files with "+
				"--input %s=PATH",
				strings.Join(none, ", "), none[0])
		}
		if len(s.MadeUpTime) > 0 {
			r.t.Say("graphd: no input has a time, so their events are taken a millisecond apart, and %s went by that: "+
				"give the inputs a time", strings.Join(s.MadeUpTime, ", "))
		}
	}
	switch {
	case asJSON || r.flags.stats:
		stats := runStats{
			Events: s.Events, Epochs: s.Epochs, Failed: s.Failed, Outputs: s.Outputs, DeadLetters: s.DeadLetters,
			LateDropped: s.LateDropped, MadeUpTime: s.MadeUpTime,
			Inputs:  make(map[string]graphd.RunInput, len(s.Inputs)),
			Seconds: took.Seconds(), CPUSeconds: cpu.Seconds(),
		}
		for _, in := range s.Inputs {
			stats.Inputs[in.Name] = in
		}
		if asJSON {
			stats.Letters = r.first
		}
		line, err := json.Marshal(stats)
		if err != nil {
			return err
		}
		r.t.Say("%s", line)
	case r.t.IsScreen(r.t.Err):
		r.t.TalkTable(runTable(s))
		r.t.Say("%s, %s, %s in %s", terminal.Plural(s.Events, "event"), terminal.Plural(s.Epochs, "epoch"),
			terminal.Plural(s.Outputs, "output"), terminal.Short(took))
	}
	if r.flags.strict && (r.told > 0 || s.DeadLetters > 0 || s.Failed > 0 || s.LateDropped > 0 || s.Overdue > 0) {
		return terminal.ErrSaid
	}
	return nil
}

// tellLosses says what was lost, with the place of the first, and what has come to nothing.
func (r *runTeller) tellLosses(s *graphd.RunStats) {
	if r.told > 0 || s.Failed > 0 {
		r.t.Say("graphd: %s, %s", terminal.Plural(r.told, "dead letter"), terminal.Plural(s.Failed, "failed epoch"))
	}
	for i := range r.first {
		r.t.Say("%s", letterText(&r.first[i]))
	}
	if more := r.told - int64(len(r.first)); more > 0 && r.all == nil {
		r.t.Say("and %d more; --dead-letters FILE writes all of them", more)
	}
	for text := range strings.Lines(s.Late + s.Left) {
		r.t.Say("graphd: %s", strings.TrimSuffix(text, "\n"))
	}
}

// letterText is a dead letter on a line, its place first, where editors find it.
func letterText(l *graphd.RunDeadLetter) string {
	place := ""
	if l.Line > 0 {
		place = fmt.Sprintf("%s:%d: ", fileName(l.File), l.Line)
	}
	if l.Accumulator != "" {
		place += l.Accumulator + ": "
	}
	if l.LastLine > 0 {
		place += fmt.Sprintf("lines %d to %d: ", l.Line, l.LastLine)
	}
	if l.Epoch > 0 {
		place += fmt.Sprintf("epoch %d: ", l.Epoch)
	}
	if !strings.HasPrefix(l.Reason, l.Code) {
		place += l.Code + ": "
	}
	return place + l.Reason + ": " + terminal.Value(l.Payload, 60)
}

// fileName is a path for people.
func fileName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// runTable shows what became of every input's events.
func runTable(s *graphd.RunStats) *terminal.Table {
	t := terminal.NewTable("INPUT", "RECEIVED", "FILTERED", "LATE", "CONFLATED", "REJECTED", "DEAD", "CONSUMED",
		"QUEUED").Numbers(1, 2, 3, 4, 5, 6, 7, 8)
	for i := range s.Inputs {
		in := &s.Inputs[i]
		t.Row(in.Name, terminal.Number(in.Received), terminal.Number(in.Filtered), terminal.Number(in.Late),
			terminal.Number(in.Conflated), terminal.Number(in.Rejected), terminal.Number(in.DeadLettered),
			terminal.Number(in.Consumed), terminal.Number(in.Queued))
	}
	return t
}

// lineWriter turns the lines of JSON that a run prints into YAML documents, or lines for people.
type lineWriter struct {
	format string
	w      io.Writer
	rest   []byte // of a line that is not complete
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	var out bytes.Buffer
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte{'\n'})
		if !whole {
			break
		}
		l.rest = rest
		if err := l.line(&out, line); err != nil {
			return 0, err
		}
	}
	if _, err := l.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *lineWriter) line(out *bytes.Buffer, line []byte) error {
	if l.format == terminal.FormatYAML {
		text, err := terminal.Encode(json.RawMessage(line), terminal.FormatYAML)
		out.WriteString("---\n")
		out.Write(text)
		return err
	}
	var m struct {
		Epoch      int64
		Key, Value json.RawMessage
		Output     string
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("read what was put out: %w", err)
	}
	key := ""
	if string(m.Key) != "null" {
		key = " " + string(m.Key)
	}
	fmt.Fprintf(out, "#%d%s  %s  %s\n", m.Epoch, terminal.Clean(key), m.Output, terminal.Clean(string(m.Value)))
	return nil
}
