package graphd

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphd/graphd/internal/testbed/leaks"
)

// TestRunJoinsWhatItStarted: a daemon whose server fails has stopped entirely when Run returns,
// the watch over its folder of declarations too.
func TestRunJoinsWhatItStarted(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := New(ctx, Config{Store: "memory:", Listen: "127.0.0.1:0", Graphs: t.TempDir(), Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-d.Ready()
	if err := d.listener.Close(); err != nil { // under the server, which did not ask for it
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run ended with %v, want the server's failure", err)
	}
	leaks.None(t, before)
}
