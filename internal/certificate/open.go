package certificate

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// Settings are what a daemon's configuration says of TLS, in its own words.
type Settings struct {
	Cert, Key, Min       string
	ClientCA, ClientAuth string
	Clients              []string
}

// The words of Settings.ClientAuth.
const (
	required = "required"
	optional = "optional"
)

// Open makes a Keeper of settings; nil is a daemon without TLS.
func Open(s Settings, log *slog.Logger) (*Keeper, error) {
	versions := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
	least, known := versions[cmp.Or(s.Min, "1.3")]
	switch {
	case !known:
		return nil, fmt.Errorf("tls-min %q: write 1.3 or 1.2", s.Min)
	case (s.Cert == "") != (s.Key == ""):
		return nil, errors.New("--tls-cert and --tls-key go together: name both files")
	case s.ClientAuth != "" && s.ClientAuth != required && s.ClientAuth != optional:
		return nil, fmt.Errorf("tls-client-auth %q: write %s or %s", s.ClientAuth, required, optional)
	case s.ClientCA == "" && len(s.Clients) > 0:
		return nil, errors.New("--tls-clients takes the file of --tls-client-ca with their authorities")
	case s.Cert == "" && s.ClientCA != "":
		return nil, errors.New("--tls-client-ca takes --tls-cert and --tls-key")
	case s.Cert == "":
		return nil, nil
	}
	clients, err := access.ParseGrants(s.Clients)
	if err != nil {
		return nil, fmt.Errorf("tls-clients: %w", err)
	}
	k, err := New(Config{Cert: s.Cert, Key: s.Key, Min: least, Log: log, ClientCA: s.ClientCA,
		Optional: s.ClientAuth == optional, Clients: clients})
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return k, nil
}

// Warnings are what health tells of the certificate. Health is everybody's: the log alone names files.
func (k *Keeper) Warnings() (list []api.Warning) {
	if k == nil {
		return nil
	}
	st := k.State()
	if st.Near {
		list = append(list, api.Warning{Code: api.WarnCertificateEnds,
			Detail: "the daemon's certificate ends on " + st.Ends.UTC().Format(time.RFC3339)})
	}
	if st.Trouble != "" {
		list = append(list, api.Warning{Code: api.WarnCertificateUnreadable,
			Detail: "the new certificate cannot be used, the one before stays in use; the log says why"})
	}
	return list
}
