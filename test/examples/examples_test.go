package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// TestExamples runs every example's test document, as `graphd test examples/…` does.
func TestExamples(t *testing.T) {
	atRoot(t)
	docs, err := filepath.Glob("examples/*/*_test.yaml")
	if err != nil || len(docs) < 2 {
		t.Fatalf("found %v, %v", docs, err)
	}
	for _, doc := range docs {
		if strings.HasPrefix(doc, "examples/embedded/") {
			continue // it needs the functions of its program, whose own test runs it
		}
		outcomes, err := graphd.TestDeclaration(t.Context(), doc)
		if err != nil {
			t.Errorf("%s: %v", doc, err)
		}
		for _, o := range outcomes {
			for _, f := range o.Failures {
				t.Errorf("%s: %s", o.Case, f)
			}
		}
	}
}

// TestFlights runs the flights twice: the bytes are the same, and the values are those
// that a plain program computes from the file.
func TestFlights(t *testing.T) {
	atRoot(t)
	d, err := graphd.ReadDeclaration("examples/flights/flights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run := func() []byte {
		var out bytes.Buffer
		_, err := d.Run(context.Background(), graphd.RunConfig{
			Inputs: map[string]string{
				"flights": "examples/flights/flights.ndjson", "recent": "examples/flights/flights.ndjson",
			},
			Stdout: &out,
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	first := run()
	if !bytes.Equal(first, run()) {
		t.Fatal("two runs over the same file differ")
	}
	if want := plainFlights(t, "examples/flights/flights.ndjson"); string(first) != want {
		t.Fatalf("the run differs from a plain computation at byte %d", firstDifference(string(first), want))
	}
}

func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// plainFlights computes what the flights example should print, with nothing of graphd in it.
func plainFlights(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var recent []float64
	epoch := 0
	for line := range strings.Lines(string(data)) {
		var f struct {
			At                  time.Time
			Origin, Destination string
			Delay               *float64 `json:"delay_min"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		if f.Delay == nil {
			continue
		}
		epoch++
		if recent = append(recent, *f.Delay); len(recent) > 50 {
			recent = recent[1:]
		}
		sum := 0.0
		for _, d := range recent {
			sum += d
		}
		mean := math.Round(sum/float64(len(recent))*100) / 100
		fmt.Fprintf(&out, `{"epoch":%d,"key":null,"output":"running","value":%s}`+"\n", epoch, number(mean))
		if *f.Delay > 60 && *f.Delay > 4*mean {
			fmt.Fprintf(&out,
				`{"epoch":%d,"key":null,"output":"alerts","value":{"at":"%s","delay":%s,"flight":"%s-%s","mean":%s}}`+
					"\n",
				epoch, f.At.UTC().Format("2006-01-02T15:04:05.000Z"), number(*f.Delay), f.Origin, f.Destination,
				number(mean))
		}
	}
	return out.String()
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// TestTwoGraphs runs the two graphs in one daemon, the one that is fed first: values go from
// the one to the other.
func TestTwoGraphs(t *testing.T) {
	runsFed(t, "examples/two-graphs", "heating", 2)
}

// TestOneCut runs a leader and the graphs that follow in one daemon.
func TestOneCut(t *testing.T) {
	runsFed(t, "examples/one-cut", "risk", 1)
}

// runsFed runs a folder until one of its graphs, whose first so many inputs others feed, has come to some epochs.
func runsFed(t *testing.T, folder, graph string, inputs int) {
	t.Helper()
	atRoot(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := graphd.New(ctx, graphd.Config{Store: "memory:", Listen: "127.0.0.1:0", Graphs: folder,
		Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- d.Run(serving) }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	var fed struct {
		Epoch        int64
		Accumulators []struct{ Name, Health, Position string }
	}
	for fed.Epoch < 5 {
		select {
		case <-look.C:
		case err := <-done:
			t.Fatalf("the daemon ended: %v", err)
		case <-ctx.Done():
			t.Fatalf("the graph is not fed: %+v", fed)
		}
		resp, err := http.Get("http://" + d.Addr() + "/v1/graphs/" + graph)
		if err != nil {
			continue // not up yet
		}
		err = json.NewDecoder(resp.Body).Decode(&fed)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range fed.Accumulators[:inputs] {
		if a.Health != "live" || !strings.HasPrefix(a.Position, "graph/") {
			t.Errorf("%+v", a)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
