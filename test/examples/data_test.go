package examples

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// runExample runs an example over its file, and returns the values of one output.
func runExample(t *testing.T, declaration, output string, inputs map[string]string) (values []string) {
	t.Helper()
	d, err := graphd.ReadDeclaration(declaration)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := d.Run(context.Background(), graphd.RunConfig{Inputs: inputs, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if _, value, ok := strings.Cut(line, `"output":"`+output+`","value":`); ok {
			values = append(values, strings.TrimSuffix(value, "}\n"))
		}
	}
	return values
}

// TestWeather compares the warnings with a plain computation over the CSV file.
func TestWeather(t *testing.T) {
	atRoot(t)
	const path = "examples/weather/weather.csv"
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	cell := func(row, column int) float64 {
		f, err := strconv.ParseFloat(rows[row][column], 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for i := 4; i < len(rows); i++ { // the first row names the columns
		fall := math.Round((cell(i-3, 1)-cell(i, 1))*10) / 10
		if fall < 1 {
			continue
		}
		wind := max(cell(i-3, 3), cell(i-2, 3), cell(i-1, 3), cell(i, 3))
		want = append(want, fmt.Sprintf(`{"at":%q,"hpa":%s,"pressure":%s,"wind":%s}`, rows[i][0], number(fall),
			number(cell(i, 1)), number(wind)))
	}
	if len(want) < 10 {
		t.Fatalf("only %d warnings are expected: the file is not the one", len(want))
	}
	if got := runExample(t, "examples/weather/weather.yaml", "warnings", map[string]string{
		"hours": path,
	}); !slices.Equal(got, want) {
		t.Errorf("got %d warnings, want %d:\n%q\n%q", len(got), len(want), got, want)
	}
}

// TestEarthquakes compares alerts and digests with a plain computation over the file.
func TestEarthquakes(t *testing.T) {
	atRoot(t)
	const path = "examples/earthquakes/earthquakes.ndjson"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var alerts, digests []string
	var since time.Time
	var n int
	var strongest *float64
	var place string
	flush := func() {
		if n > 0 {
			digests = append(digests, fmt.Sprintf(`{"n":%d,"strongest":%s,"where":%q,"without_magnitude":0}`, n,
				number(*strongest), place))
		}
		n, strongest = 0, nil
	}
	for line := range strings.Lines(string(data)) {
		var q struct {
			At     time.Time
			Mag    *float64
			Place  string
			Status string
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		if n > 0 && !q.At.Before(since.Add(6*time.Hour)) {
			flush()
		}
		if n == 0 {
			since = q.At
		}
		if n++; strongest == nil || *q.Mag > *strongest {
			strongest, place = q.Mag, q.Place
		}
		if *q.Mag >= 6 {
			alerts = append(alerts, fmt.Sprintf(`{"at":"%s","mag":%s,"place":%q,"sure":%v}`,
				q.At.Format("2006-01-02T15:04:05.000Z"), number(*q.Mag), q.Place, q.Status == "reviewed"))
		}
	}
	flush()
	inputs := map[string]string{"quakes": path, "recent": path}
	for output, want := range map[string][]string{"alerts": alerts, "digests": digests} {
		if got := runExample(t, "examples/earthquakes/earthquakes.yaml", output, inputs); !slices.Equal(got, want) ||
			len(want) < 3 {
			t.Errorf("%s: got\n%s\nwant\n%s", output, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
