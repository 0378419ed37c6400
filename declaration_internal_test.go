package graphd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// M26: a test of a declaration ends with its context, however far the clock has to go.
func TestTestDeclarationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"endless.yaml": "graph: endless\naccumulators: { a: { strategy: sequential } }\nreactor: { when: any, " +
			"every: 1ms }\n" +
			"nodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n",
		"endless_test.yaml": "graph: endless\ncases:\n  - name: far\n    steps:\n      - push: { a: [1] }\n" +
			"      - advance: 100000h\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := TestDeclaration(ctx, filepath.Join(dir, "endless_test.yaml"))
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the context", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}
