// Command data writes the data of the everyday graphs, and what is right for it, computed by plain loops:
//
//	go run ./examples/everyday/data /tmp/everyday
//
// leaves INPUT.ndjson of each graph in a folder of its name, and the answers by output in want.json there. The same
// size gives the same data on every machine; package gen says how. The last event of an input stands far behind the
// others, under the name ~end: what comes out about it is not among the answers.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graphd/graphd/examples/everyday/gen"
)

func main() {
	size := flag.Int("size", 5000, "about how many events each graph has, 1000 or more")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: data [-size N] DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *size < 1000 {
		flag.Usage()
		os.Exit(2)
	}
	for _, task := range gen.Shown(*size) {
		if err := write(filepath.Join(flag.Arg(0), task.Name), task); err != nil {
			fmt.Fprintln(os.Stderr, "data:", err)
			os.Exit(1)
		}
	}
}

func write(dir string, task gen.Task) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := gen.Write(dir, task.Items); err != nil {
		return fmt.Errorf("write the events of %s: %w", task.Name, err)
	}
	text, err := json.MarshalIndent(task.Want, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "want.json"), append(text, '\n'), 0o600)
}
