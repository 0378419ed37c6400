package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// watchEvery is how long --watch waits before it asks again.
const watchEvery = time.Second

// clearScreen empties a screen and goes to its first line.
const clearScreen = "\x1b[H\x1b[2J"

// again carries out do until ctx ends: on a screen in the same place, elsewhere one behind the other
// as long as there is something new. A daemon that is away is waited for; any other error ends it.
func (a *Verbs) again(ctx context.Context, do func(context.Context) error) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var before []byte
	for {
		text, err := a.Hold(func() error { return do(ctx) })
		if ctx.Err() != nil {
			return nil
		}
		switch exit, away := errors.AsType[*terminal.ExitError](err); {
		case err != nil && (!away || exit.Code != terminal.ExitDependency):
			return err
		case err != nil:
			text = []byte(terminal.Clean(err.Error()) + "\n")
		}
		if !bytes.Equal(text, before) {
			if err := a.show(text, before == nil); err != nil {
				return err
			}
			before = text
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *Verbs) show(text []byte, first bool) error {
	switch {
	case a.IsScreen(a.Out):
		text = append([]byte(clearScreen), text...)
	case !first && a.Format == terminal.FormatYAML:
		text = append([]byte("---\n"), text...)
	case !first && a.Format != terminal.FormatJSON:
		text = append([]byte{'\n'}, text...)
	}
	_, err := io.Copy(a.Out, bytes.NewReader(text))
	return err
}
