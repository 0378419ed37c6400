// Command generate writes the rules of Prometheus, their tests and the dashboard of Grafana anew. It is run at the
// root of the module, by `make monitoring`.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/graphd/graphd/deploy/monitoring"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

func write() error {
	files, err := monitoring.Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(f.Path, f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
