package graphd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/server/control"
	"github.com/graphd/graphd/internal/server/wire"
)

// by is who steers a graph from within the program.
const by = "the program"

// Handler is the API of the daemon, to be served by the program's own server, WebSocket and all; below a prefix with
// [http.StripPrefix]. It answers from Ready on. Requests are let in as those on Listen are: by token, under a name that
// Config.Hosts lists, or an address; and while there is no token, to connections on loopback alone, unless
// Config.Insecure. End the server before the daemon's context ends.
func (d *Daemon) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !d.isUp():
			wire.WriteProblem(w, wire.Refuse(http.StatusServiceUnavailable, api.CodeNotReady, "the daemon is starting"),
				"")
		case !d.gate.Closed() && !d.cfg.Insecure && !overLoopback(r):
			wire.WriteProblem(w, wire.Refuse(http.StatusForbidden, api.CodeForbidden,
				"this daemon has no token yet, and is reached over the network: make the first over loopback"), "")
		default:
			d.server.ServeHTTP(w, r)
		}
	})
}

func (d *Daemon) isUp() bool {
	select {
	case <-d.up:
		return true
	default:
		return false
	}
}

// overLoopback says whether a request has come to an address of this machine alone.
func overLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// control is the engine, with the audit before it.
func (d *Daemon) control() control.Control { return control.Audited(d.engine, d.trail) }

func ref(graph string) api.Ref { return api.Ref{Tenant: checkpoint.DefaultTenant, Name: graph} }

// Graph is a graph as it is now. Refusals of this and of the other calls have a stable code, which [client.Code] tells.
func (d *Daemon) Graph(ctx context.Context, graph string) (client.GraphSummary, error) {
	return d.engine.Graph(ctx, ref(graph))
}

// State is what is inside a graph between two epochs; key is JSON, "" in a graph without keys.
func (d *Daemon) State(ctx context.Context, graph, key string) (client.State, error) {
	return d.engine.State(ctx, ref(graph), key)
}

// Fire runs one epoch now.
func (d *Daemon) Fire(ctx context.Context, graph string, f client.FireRequest) (client.FireResult, error) {
	if err := wire.CheckFire(&f); err != nil {
		return client.FireResult{}, err
	}
	return d.control().Fire(ctx, ref(graph), f)
}

// Pause stops the evaluation of a graph; it is durable when it is answered, and lasts until Resume.
func (d *Daemon) Pause(ctx context.Context, graph string) (client.GraphSummary, error) {
	return d.control().Pause(ctx, ref(graph), by)
}

// Resume goes on.
func (d *Daemon) Resume(ctx context.Context, graph string) (client.GraphSummary, error) {
	return d.control().Resume(ctx, ref(graph), by)
}

// Delete stops and removes a graph, with state all it persisted too.
func (d *Daemon) Delete(ctx context.Context, graph string, state bool) error {
	return d.control().Delete(ctx, ref(graph), state)
}

// Subscribe hands each what happens in a graph, or with graph "" in all: "outputs", "firings", "health", "state". It
// goes on behind the frame with the place since, from now on with "". A graph never waits for it: what each was too
// slow for comes as one frame of the type gap. It ends with ctx (nil), with each's error, and with io.EOF when the
// graph is gone.
func (d *Daemon) Subscribe(ctx context.Context, graph string, topics []string, since string,
	each func(*client.Frame) error) error {
	sub, err := d.engine.Watch(ctx, ref(graph), api.Wanted{Topics: topics, Since: since})
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		f, err := sub.Next(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			return io.EOF
		default:
			return err
		}
		if err := each(f); err != nil {
			return err
		}
	}
}
