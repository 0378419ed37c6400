package graphd

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// storeTime is what the stop keeps at most for the closing of the store, one part in
	// storeShare of a short stop: a database that hangs takes so long until it is given up.
	storeTime  = 3 * time.Second
	storeShare = 4
	// serverShare is the part of the stop, one in so many, after which requests that are still
	// under way are cut off: the graphs need the rest, and what a request waits for is them.
	serverShare = 4
)

// stop ends what runs, in order: graphs that other daemons take, requests, the other graphs, the
// watch over the folder of declarations, the audit, the store. All of it has the shutdown timeout and no more.
// Each part has an end of its own before that, so that one which uses all of its time leaves some to
// those after it; what would not end is named in the error and left behind, for the process to end with.
func (d *Daemon) stop(serving <-chan error, watching <-chan struct{}, stopTrail func(context.Context)) error {
	began := time.Now()
	all := d.cfg.ShutdownTimeout
	end, cancel := context.WithDeadline(context.Background(), began.Add(all))
	defer cancel()
	graphs, cancel := context.WithDeadline(end, began.Add(all-min(all/storeShare, storeTime)))
	defer cancel()
	requests, cancel := context.WithDeadline(graphs, began.Add(all/serverShare))
	defer cancel()
	by, _ := graphs.Deadline()
	d.engine.HandOver(requests, by) // what others can run is theirs before anything else ends
	err := stopError(d.server.Shutdown(requests))
	served, late := within(graphs, serving, "the server")
	err = errors.Join(err, served, late, stopError(d.engine.Shutdown(graphs)))
	_, late = within(end, watching, "the watch over the declarations") // it may be applying one, to the store
	err = errors.Join(err, late)
	stopTrail(end)
	closed := make(chan error, 1)
	go func() { closed <- d.store.Close() }() // joined below, or left to the end of the process
	failed, late := within(end, closed, "the store")
	return errors.Join(err, failed, late)
}

// within waits for what ended tells, until ctx is done; then late names who did not end.
func within[T any](ctx context.Context, ended <-chan T, who string) (told T, late error) {
	select {
	case told = <-ended:
		return told, nil
	default:
	}
	select {
	case told = <-ended:
		return told, nil
	case <-ctx.Done():
		return told, stopError(fmt.Errorf("%s did not end in time: %w; it is left behind", who, ctx.Err()))
	}
}

func stopError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrStop, err)
}
