package graphd

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/certificate"
)

// openCertificate reads the certificate's files; nil is a daemon without TLS.
func (c *Config) openCertificate() (*certificate.Keeper, error) {
	versions := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
	least, known := versions[cmp.Or(c.TLSMin, "1.3")]
	switch {
	case !known:
		return nil, fmt.Errorf("%w: tls-min %q: write 1.3 or 1.2", ErrConfig, c.TLSMin)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return nil, fmt.Errorf("%w: --tls-cert and --tls-key go together: name both files", ErrConfig)
	case c.TLSClientAuth != "" && c.TLSClientAuth != AuthRequired && c.TLSClientAuth != AuthOptional:
		return nil, fmt.Errorf("%w: tls-client-auth %q: write %s or %s", ErrConfig, c.TLSClientAuth, AuthRequired,
			AuthOptional)
	case c.TLSClientCA == "" && len(c.TLSClients) > 0:
		return nil, fmt.Errorf("%w: --tls-clients takes the file of --tls-client-ca with their authorities", ErrConfig)
	case c.TLSCert == "" && c.TLSClientCA != "":
		return nil, fmt.Errorf("%w: --tls-client-ca takes --tls-cert and --tls-key", ErrConfig)
	case c.TLSCert == "":
		return nil, nil
	}
	clients, err := access.ParseGrants(c.TLSClients)
	if err != nil {
		return nil, fmt.Errorf("%w: tls-clients: %w", ErrConfig, err)
	}
	keeper, err := certificate.New(certificate.Config{Cert: c.TLSCert, Key: c.TLSKey, Min: least, Log: c.Log,
		ClientCA: c.TLSClientCA, Optional: c.TLSClientAuth == AuthOptional, Clients: clients})
	if err != nil {
		return nil, fmt.Errorf("%w: TLS: %w", ErrConfig, err)
	}
	return keeper, nil
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
func (d *Daemon) warnings() (list []api.Warning) {
	if d.certificate == nil {
		return nil
	}
	st := d.certificate.State()
	if st.Near {
		list = append(list, api.Warning{Code: api.WarnCertificateEnds,
			Detail: "the daemon's certificate ends on " + st.Ends.UTC().Format(time.RFC3339)})
	}
	if st.Trouble != "" { // health is everybody's: the files are named in the log alone
		list = append(list, api.Warning{Code: api.WarnCertificateUnreadable,
			Detail: "the new certificate cannot be used, the one before stays in use; the log says why"})
	}
	return list
}
