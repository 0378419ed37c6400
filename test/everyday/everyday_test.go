// Package everyday holds ten tasks that people ask for every day to answers that know nothing of graphd: run over
// files, and live, at every pace, in disorder and across kill -9. Whatever the data and the answers are, package gen
// says; how a task is declared, the example of its name, or the folder of its name here.
//
// EVERYDAY_SIZE is how many events each task has, 5,000 by default. EVERYDAY_PACE is how much faster than real time
// they come where they come one after the other: by default 100 times, the first ten minutes of them, or as fast as
// makes four seconds of them all.
// EVERYDAY_DATA is a folder to leave files and answers in, for other programs.
package everyday

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/examples/everyday/gen"
)

// size is how many events each task has: EVERYDAY_SIZE, or few enough for every day.
func size(t *testing.T) int {
	t.Helper()
	text := os.Getenv("EVERYDAY_SIZE")
	if text == "" {
		return 5000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("EVERYDAY_SIZE=%s: want a number of events, 1000 or more", text)
	}
	return n
}

// TestRun is M26 in its virtual form: what graphd run answers over files is right, in order, in disorder, and where
// the data ends.
func TestRun(t *testing.T) {
	for _, task := range gen.All(size(t)) {
		runs(t, task, "run", task.Items)
		if !task.InStep {
			runs(t, task, "run shuffled", task.Shuffled())
		}
	}
	for _, task := range gen.All(size(t) / 4) {
		if task.Name != scoring {
			runs(t, task.First(slowly), "run slow", task.First(slowly).Items)
		}
	}
	cut := gen.SensorsCut(size(t))
	runs(t, cut, "run cut", cut.Items)
}

func runs(t *testing.T, task gen.Task, way string, items []gen.Item) {
	t.Run(task.Name+"/"+way, func(t *testing.T) {
		t.Parallel()
		got, err := runTask(t, task, items)
		if err != nil {
			t.Fatal(err)
		}
		judge(t, task, way, got)
	})
}

// runTask runs the task's graphs over files of the items and returns what came out, by output.
func runTask(t *testing.T, task gen.Task, items []gen.Item) (map[string][]string, error) {
	t.Helper()
	paths, err := gen.Write(t.TempDir(), items)
	if err != nil {
		return nil, err
	}
	got := map[string][]string{}
	for _, file := range declarations(t, task) {
		d, err := graphd.ReadDeclaration(file)
		if err != nil {
			return nil, err
		}
		out := &bytes.Buffer{}
		config := graphd.RunConfig{Inputs: map[string]string{}, Stdout: out}
		for _, input := range d.InputNames() {
			if path, ok := paths[input]; ok { // the graph itself feeds its stages
				config.Inputs[input] = path
			}
		}
		stats, err := d.Run(t.Context(), config)
		if err != nil {
			return nil, err
		}
		if stats.DeadLetters != 0 {
			return nil, fmt.Errorf("%s: %d dead letters", file, stats.DeadLetters)
		}
		if err := collect(out.Bytes(), got, false); err != nil {
			return nil, fmt.Errorf("run %s: %w", file, err)
		}
	}
	return got, nil
}

// A line is what a file sink or a run writes for each value.
type line struct {
	Output string `json:"output"`
	Firing string `json:"firing_id"`
	Value  any    `json:"value"`
}

// collect adds the values of lines of output, each firing once, but for those about the end of the data. Where a writer
// was killed a line may be torn: its value is written again.
func collect(data []byte, into map[string][]string, killed bool) error {
	seen := map[string]bool{}
	for text := range bytes.Lines(data) {
		var l line
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			if killed {
				continue
			}
			return fmt.Errorf("line %q: %w", text, err)
		}
		value, err := json.Marshal(l.Value)
		if err != nil {
			return err
		}
		again := l.Firing != "" && seen[l.Output+l.Firing]
		if again || bytes.Contains(value, []byte(`"`+gen.End+`"`)) {
			continue
		}
		seen[l.Output+l.Firing] = true
		into[l.Output] = append(into[l.Output], string(value))
	}
	return nil
}

// compare says how what came out differs from what is right, in any order; "" is not at all.
func compare(task gen.Task, got map[string][]string) (string, error) {
	var report []string
	for output, values := range task.Want {
		want := make([]string, len(values))
		for i, v := range values {
			text, err := json.Marshal(v)
			if err != nil {
				return "", err
			}
			want[i] = string(text)
		}
		had := got[output]
		if task.Some && len(values) > 0 {
			var errs [2]error
			fields := values[0].(map[string]any)
			want, errs[0] = alone(want, fields)
			had, errs[1] = alone(had, fields)
			if err := errors.Join(errs[:]...); err != nil {
				return "", err
			}
		}
		missing, extra := without(want, had), without(had, want)
		if len(missing)+len(extra) > 0 {
			report = append(report, fmt.Sprintf("%s: of %d values %d are missing and %d too many: %v, %v", output,
				len(want), len(missing), len(extra), missing[:min(2, len(missing))], extra[:min(2, len(extra))]))
		}
	}
	slices.Sort(report)
	return strings.Join(report, "\n"), nil
}

// alone are the values with these fields and no others, and the fields of each in one order.
func alone(of []string, fields map[string]any) ([]string, error) {
	var left []string
	for _, text := range of {
		value := map[string]any{}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		for name := range value {
			if _, ok := fields[name]; !ok {
				delete(value, name)
			}
		}
		kept, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		left = append(left, string(kept))
	}
	return left, nil
}

// without are the values of a that are not in b, as often as that is so.
func without(a, b []string) []string {
	left := map[string]int{}
	for _, v := range b {
		left[v]++
	}
	var of []string
	for _, v := range a {
		if left[v] > 0 {
			left[v]--
		} else {
			of = append(of, v)
		}
	}
	return of
}

// judge fails the test when what came out is not right, or, of a case that is known to be wrong, when it is.
func judge(t *testing.T, task gen.Task, way string, got map[string][]string) {
	t.Helper()
	diff, err := compare(task, got)
	if err != nil {
		t.Fatal(err)
	}
	for output, values := range task.Want {
		if len(values) < 5 && !task.Part {
			t.Errorf("%s has %d values only: that shows nothing", output, len(values))
		}
	}
	wrong, known := notYet()[task.Name+"/"+way]
	switch {
	case known && diff == "":
		t.Errorf("is right now: take it out of notYet (%s)", wrong.why)
	case known:
		t.Logf("wrong, as is known (%s):\n%s", wrong.why, diff)
	case diff != "":
		t.Error(diff)
	}
}
