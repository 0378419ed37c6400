package graphd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
)

// listen takes the address; there is no listener with ListenNone.
func (c *Config) listen(ctx context.Context) (net.Listener, error) {
	if c.Listen == ListenNone {
		return nil, nil //nolint:nilnil // none is asked for
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: listen on %s: %w; is another daemon running? choose another address with --listen",
			ErrDependency, c.Listen, err)
	}
	return l, nil
}

// Addr is where the control plane listens, "" with ListenNone.
func (d *Daemon) Addr() string {
	if d.listener == nil {
		return ""
	}
	return d.listener.Addr().String()
}

// serve tells serving when the server has ended, and answers where to hear of that; nil where nothing is served but
// what the program itself does.
func (d *Daemon) serve(ctx context.Context, serving chan error) (ended <-chan error) {
	if d.listener == nil {
		serving <- nil
		return nil
	}
	go func() { serving <- d.server.Serve(context.WithoutCancel(ctx), d.listener) }() // joined by the stop
	return serving
}

func (d *Daemon) unlisten() error {
	if d.listener == nil {
		return nil
	}
	return d.listener.Close()
}

// ready prints the one line that scripts wait for.
func (d *Daemon) ready() error {
	line, err := json.Marshal(struct {
		Ready  bool   `json:"ready"`
		Listen string `json:"listen,omitempty"`
		TLS    bool   `json:"tls,omitempty"`
	}{true, d.Addr(), d.certificate != nil})
	if err != nil {
		return err
	}
	if _, err := d.cfg.Stdout.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%w: write the ready line: %w", ErrDependency, err)
	}
	close(d.up)
	d.log.Info("ready", "listen", d.Addr(), "store", d.store.Kind())
	return nil
}
