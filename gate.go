package graphd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/gate"
)

// checkAuth refuses a word that says nothing about tokens.
func (c *Config) checkAuth() error {
	switch c.Auth {
	case "", AuthAuto, AuthRequired:
		return nil
	}
	return fmt.Errorf("%w: auth %q: write %s or %s", ErrConfig, c.Auth, AuthAuto, AuthRequired)
}

// checkListen refuses an address that is none.
func (c *Config) checkListen() error {
	if c.Listen == ListenNone {
		if c.TLSCert != "" {
			return fmt.Errorf("%w: a daemon that listens nowhere speaks no TLS: leave the certificate to the server "+
				"that serves its handler", ErrConfig)
		}
		return nil
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("%w: listen %q: %w; write host:port", ErrConfig, c.Listen, err)
	}
	return nil
}

// onLoopback says whether the daemon listens for this machine alone.
func (c *Config) onLoopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// openGate decides who needs a token, before the daemon listens. Beyond loopback everybody does,
// unless told otherwise: without tokens anyone who reaches the daemon can steer it.
func (d *Daemon) openGate(ctx context.Context) (*gate.Gate, error) {
	c := &d.cfg
	var err error
	if d.issuer, err = c.openIssuer(d.guard); err != nil {
		return nil, err
	}
	config := gate.Config{Store: d.store, Required: c.Auth == AuthRequired, Shared: d.store.Kind() == "postgres",
		Log: c.Log, Trail: d.trail, Failures: c.Arrivals.Failures(), Grants: d.issuer.Grants()}
	if c.TLSClientCA != "" {
		config.Required, config.Certificates = true, d.certificate.Whose
	}
	if d.issuer != nil {
		config.Required, config.Issuer, config.SignOn = true, d.issuer.Whose, d.issuer
	}
	g, err := gate.New(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDependency, err)
	}
	if !g.Closed() && !c.Insecure && !c.onLoopback() && c.Listen != ListenNone { // Handler looks at each request
		return nil, fmt.Errorf("%w: listen %s is not loopback, and without tokens anyone who reaches it can steer the "+
			"daemon; make the first with 'graphd token bootstrap', listen on 127.0.0.1, or say --insecure",
			ErrConfig, c.Listen)
	}
	return g, nil
}

// hosts are the names that the daemon answers to: those that are listed, and the one that it listens on.
func (c *Config) hosts() []string {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || host == "" || net.ParseIP(host) != nil || strings.ContainsAny(host, ":%") {
		return c.Hosts
	}
	return append([]string{host}, c.Hosts...)
}

// ErrConflict says that what is to be made is there already; test with errors.Is.
var ErrConflict = gate.ErrThere

// Bootstrap makes the first token, a platform administrator's of the given name, in the store that the
// configuration names, and closes the store again. There is none of it while another is good: then the
// error is ErrConflict. by is for the record.
func Bootstrap(ctx context.Context, c Config, name, by string) (token string, err error) {
	c.setDefaults()
	if c.Store == "memory:" {
		return "", fmt.Errorf("%w: the store memory: is a daemon's own; make the first token through it: graphd token "+
			"create --role platform-admin", ErrConfig)
	}
	store, err := openStore(ctx, &c)
	if errors.Is(err, checkpoint.ErrLocked) {
		err = fmt.Errorf("%w: stop the daemon that holds it, or make the first token through it: graphd token create "+
			"--role platform-admin", err)
	}
	if err != nil {
		return "", err
	}
	trail := audit.New(audit.Config{Store: store, Log: c.Log})
	g, err := gate.New(ctx, gate.Config{Store: store, Log: c.Log, Trail: trail})
	if err == nil {
		who := audit.Actor{Subject: by, From: fmt.Sprintf("uid %d", os.Getuid())}
		token, err = g.Bootstrap(audit.As(ctx, who), name, by)
	}
	trail.Close(ctx)
	if err = errors.Join(err, store.Close()); err != nil {
		return "", err
	}
	return token, nil
}
