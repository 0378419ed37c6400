package gen_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/graphd/graphd/examples/everyday/gen"
)

// TestSame holds that the data is the same each time it is made, and that a shuffle loses nothing. With EVERYDAY_DATA
// it leaves the files there, TASK/INPUT.ndjson, in disorder TASK/shuffled/INPUT.ndjson, and the answers TASK/want.json,
// for other programs.
func TestSame(t *testing.T) {
	again := gen.All(5000)
	for i, task := range gen.All(5000) {
		if !reflect.DeepEqual(task, again[i]) {
			t.Errorf("%s differs from one time to the next", task.Name)
		}
		shuffled := task.Shuffled()
		if len(shuffled) != len(task.Items) || task.Within > 0 && reflect.DeepEqual(shuffled, task.Items) {
			t.Errorf("%s is not shuffled: %d events of %d", task.Name, len(shuffled), len(task.Items))
		}
		dir := os.Getenv("EVERYDAY_DATA")
		if dir == "" {
			dir = t.TempDir()
		}
		text, err := json.Marshal(task.Want)
		if err != nil {
			t.Fatal(err)
		}
		for sub, items := range map[string][]gen.Item{"": task.Items, "shuffled": shuffled} {
			to := filepath.Join(dir, task.Name, sub)
			if err := os.MkdirAll(to, 0o750); err != nil {
				t.Fatal(err)
			}
			if _, err := gen.Write(to, items); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, task.Name, "want.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
