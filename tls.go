package graphd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/certificate"
	"github.com/graphd/graphd/internal/issuer"
	"github.com/graphd/graphd/internal/outbound"
)

// openCertificate reads the certificate's files; there is none without TLS.
func (c *Config) openCertificate() (*certificate.Keeper, error) {
	k, err := certificate.Open(certificate.Settings{Cert: c.TLSCert, Key: c.TLSKey, Min: c.TLSMin,
		ClientCA: c.TLSClientCA, ClientAuth: c.TLSClientAuth, Clients: c.TLSClients}, c.Log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return k, nil
}

// openIssuer makes the issuer that the configuration believes, if there is one. The operator has named it, and so
// has allowed the call.
func (c *Config) openIssuer(guard *outbound.Guard) (is *issuer.Issuer, err error) {
	if c.OIDCIssuer != "" {
		is, err = issuer.New(issuer.Config{URL: c.OIDCIssuer, Audience: c.OIDCAudience, Grants: c.OIDCGrants,
			Login: issuer.Login{Client: c.OIDCClient, SecretFile: c.OIDCClientSecret, Base: c.OIDCRedirect,
				Hosts: c.Hosts, Scopes: c.OIDCScopes}, Guard: guard.Operators(), Log: c.Log})
	} else if c.OIDCAudience != "" || len(c.OIDCGrants) > 0 || c.OIDCClient != "" {
		err = errors.New("--oidc-audience, --oidc-grants and --oidc-client take --oidc-issuer")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: OpenID Connect: %w", ErrConfig, err)
	}
	return is, nil
}

// tls is the server's configuration of TLS, nil without.
func (d *Daemon) tls() *tls.Config {
	if d.certificate != nil {
		return d.certificate.TLS()
	}
	if !d.cfg.onLoopback() {
		d.log.Warn("the daemon listens beyond this machine without TLS: tokens and events go over the network as they "+
			"are, unless something before it speaks TLS", slog.String("listen", d.cfg.Listen))
	}
	return nil
}

// warnings are what health tells although the daemon is ready.
func (d *Daemon) warnings() []api.Warning {
	return slices.Concat(d.engine.Untaken.Warnings(), d.issuer.Warnings(), d.certificate.Warnings(), d.raised())
}

// watch looks after what changes outside, until ctx is done: the folder of declarations, the issuer's keys.
func (d *Daemon) watch(ctx context.Context) {
	var all sync.WaitGroup
	if d.issuer != nil {
		all.Go(func() { d.issuer.Run(ctx) })
	}
	d.watchGraphs(ctx)
	all.Wait()
}
