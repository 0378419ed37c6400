package everyday

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/examples/everyday/gen"
)

// shown is where the examples are that are tasks.
const shown = "../../examples/everyday"

// declarations are the files of a task's graphs: those in the folder of its name here, or else the example.
func declarations(t *testing.T, task gen.Task) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(task.Name, "*.yaml"))
	if err == nil && len(files) == 0 {
		files, err = filepath.Glob(filepath.Join(shown, task.Name+".yaml"))
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("declarations of %s: %v %v", task.Name, files, err)
	}
	return files
}

// declare applies the task's declarations, with their inputs and outputs where this way has them.
func (f *feed) declare(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, file := range declarations(t, f.task) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var document yaml.Node
		if err := yaml.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		graph, err := f.adapt(document.Content[0])
		if err != nil {
			t.Fatal(err)
		}
		if text, err = yaml.Marshal(&document); err != nil {
			t.Fatal(err)
		}
		if err := f.daemon.call(ctx, "PUT", "/v1/graphs/"+graph, "application/yaml", text, nil); err != nil {
			t.Fatal(err)
		}
		if f.killed && f.files && !f.paced { // while it reads
			<-time.After(time.Duration(rand.IntN(20)) * time.Millisecond)
			f.daemon.restart()
		}
	}
}

// getOn waits until each graph has committed in this life of the daemon, or has nothing left to read: three kills
// without that are a crash loop (M43), whoever kills.
func getOn(ctx context.Context, t *testing.T, feeds []*feed) {
	t.Helper()
	for _, f := range feeds {
		for {
			on, err := f.gotOn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if on {
				break
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s does not get on", f.task.Name)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

func (f *feed) gotOn(ctx context.Context) (bool, error) {
	if all, _, err := f.books(ctx); all || err != nil {
		return all, err
	}
	for graph := range f.graphs {
		var g struct {
			Durability struct {
				Age *float64 `json:"checkpoint_age_seconds"`
			}
		}
		if err := f.daemon.call(ctx, "GET", "/v1/graphs/"+graph, "", nil, &g); err != nil {
			return false, err
		}
		age, life := g.Durability.Age, time.Since(f.daemon.since)
		if age == nil || *age > life.Seconds() {
			return false, nil
		}
	}
	return true, nil
}

// adapt changes a declaration in place, for the order of its routes has a meaning, and returns the graph's name.
func (f *feed) adapt(document *yaml.Node) (graph string, err error) {
	graph = field(document, "graph").Value
	for input, fields := range fieldsOf(field(document, "accumulators")) {
		if field(fields, "from") != nil || field(fields, "join") != nil { // which the graph feeds
			continue
		}
		f.graphs[graph] = append(f.graphs[graph], input)
		if f.files && input != scores {
			file := map[string]any{"path": filepath.Join(f.dir, input+".ndjson"), "follow": f.paced}
			if err := set(fields, "source", map[string]any{"file": file}); err != nil {
				return "", err
			}
		}
	}
	for name, fields := range fieldsOf(field(document, "outputs")) {
		if field(field(fields, "sink"), "stdout") == nil {
			continue
		}
		path := filepath.Join(f.dir, "out."+name+".ndjson")
		if err := set(fields, "sink", map[string]any{"file": map[string]any{"path": path}}); err != nil {
			return "", err
		}
		if f.killed { // each value once, for who looks at its id
			if err := set(fields, "delivery", "outbox"); err != nil {
				return "", err
			}
		}
	}
	if f.killed && (!f.files || f.task.Name == scoring) { // what was pushed is kept
		err = set(document, "durability", map[string]any{"mode": "journal"})
	}
	return graph, err
}

// fieldsOf are the members of a mapping.
func fieldsOf(mapping *yaml.Node) map[string]*yaml.Node {
	of := map[string]*yaml.Node{}
	for i := 0; i < len(mapping.Content); i += 2 {
		of[mapping.Content[i].Value] = mapping.Content[i+1]
	}
	return of
}

func field(mapping *yaml.Node, name string) *yaml.Node { return fieldsOf(mapping)[name] }

// set gives a mapping a member, in the place of the one it has.
func set(mapping *yaml.Node, name string, value any) error {
	var node yaml.Node
	if err := node.Encode(value); err != nil {
		return err
	}
	if old := field(mapping, name); old != nil {
		*old = node
		return nil
	}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, &node)
	return nil
}
