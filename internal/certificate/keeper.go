package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/access"
)

const (
	// lookEvery is how often at most the files are read.
	lookEvery = time.Second
	// maxFile bounds a file: a bundle of all public authorities has a fifth of that.
	maxFile = 1 << 20
	// soon and soonPart say when the end of a certificate is near: two weeks before it, or the last tenth of one
	// that lives shortly.
	soon, soonPart = 14 * 24 * time.Hour, 10
)

// Config says where certificates are.
type Config struct {
	// Cert and Key are files in PEM: the certificate with those between it and its authority, and its key.
	Cert, Key string
	// ClientCA is a file with the authorities of clients; "" asks for no certificate.
	ClientCA string
	// Optional lets those in, too, who show none.
	Optional bool
	// Clients are the names of clients' certificates and what each is given.
	Clients []access.Granted
	// Min is the oldest version of TLS that is spoken; 0 is 1.3.
	Min uint16
	// Log is needed; Now is the clock, nil for that of the machine.
	Log *slog.Logger
	Now func() time.Time
}

// Keeper has what the files held when they were last in order.
type Keeper struct {
	cfg  Config
	held atomic.Pointer[held]
	// looking is for one who reads; looked is when that was, taken what is held.
	looking sync.Mutex
	looked  time.Time
	taken   [sha256.Size]byte

	trouble           atomic.Pointer[string]
	reloads, failures atomic.Int64
	warned            bool
}

// held is what the files held.
type held struct {
	config *tls.Config // for a connection
	pool   *x509.CertPool
	seen   seen // of the clients whose certificates the pool vouches for
	begins time.Time
	ends   time.Time // the first end in the chain
	warn   time.Time // from when on the end is near
}

// State is how a Keeper stands.
type State struct {
	// Ends is when the certificate that is shown ends; Near says that it is time for another.
	Ends time.Time
	Near bool
	// Trouble is why the files cannot be used as they are now, "" where they can.
	Trouble string
	// Reloads counts the changes that were taken, Failures those that could not be.
	Reloads, Failures int64
}

// New reads the files, which must be in order.
func New(cfg Config) (*Keeper, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Min == 0 {
		cfg.Min = tls.VersionTLS13
	}
	k := &Keeper{cfg: cfg, looked: cfg.Now()}
	files, err := k.read()
	if err != nil {
		return nil, err
	}
	h, err := k.parse(files)
	if err == nil {
		err = k.current(h, cfg.Now())
	}
	if err != nil {
		return nil, err
	}
	k.taken = files.sum()
	k.held.Store(h)
	k.tellEnd(h)
	return k, nil
}

// TLS is the configuration of a server whose every connection has what the files hold then.
func (k *Keeper) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: k.cfg.Min, NextProtos: protocols(),
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			k.look()
			return k.held.Load().config, nil
		},
	}
}

func protocols() []string { return []string{"h2", "http/1.1"} }

// State looks at the files, and says how they stand.
func (k *Keeper) State() State {
	k.look()
	h := k.held.Load()
	s := State{Ends: h.ends, Near: !k.cfg.Now().Before(h.warn), Reloads: k.reloads.Load(), Failures: k.failures.Load()}
	if why := k.trouble.Load(); why != nil {
		s.Trouble = *why
	}
	return s
}

// look takes what the files hold now, when it is time to look and nobody else does.
func (k *Keeper) look() {
	if !k.looking.TryLock() {
		return
	}
	defer k.looking.Unlock()
	now := k.cfg.Now()
	if passed := now.Sub(k.looked); passed >= 0 && passed < lookEvery {
		return
	}
	k.looked = now
	files, err := k.read()
	sum := files.sum()
	if err == nil && sum == k.taken {
		k.trouble.Store(nil)
		k.tellEnd(k.held.Load())
		return
	}
	var h *held
	if err == nil {
		h, err = k.parse(files)
	}
	if err == nil {
		err = k.current(h, now)
	}
	if err != nil {
		k.broken(err)
		return
	}
	k.taken = sum
	k.held.Store(h)
	k.trouble.Store(nil)
	k.reloads.Add(1)
	k.warned = false
	k.cfg.Log.Info("the certificate was read anew", slog.Time("ends", h.ends))
	k.tellEnd(h)
}

// current refuses a certificate that is not good at a moment.
func (k *Keeper) current(h *held, now time.Time) error {
	if now.Before(h.begins) || !now.Before(h.ends) {
		return fmt.Errorf("the certificate in %s is good from %s to %s, and not now: put one that is into its place, "+
			"and look at the machine's clock", k.cfg.Cert, h.begins.UTC().Format(time.RFC3339),
			h.ends.UTC().Format(time.RFC3339))
	}
	return nil
}

// broken tells of files that cannot be used, once for each trouble they have.
func (k *Keeper) broken(err error) {
	why := err.Error()
	if old := k.trouble.Swap(&why); old != nil && *old == why {
		return
	}
	k.failures.Add(1)
	k.cfg.Log.Error("the new certificate cannot be used, the one before stays in use", slog.Any("err", err),
		slog.Time("ends", k.held.Load().ends))
}

// tellEnd tells once that a certificate ends soon. The caller looks, or nobody does yet.
func (k *Keeper) tellEnd(h *held) {
	if k.warned || k.cfg.Now().Before(h.warn) {
		return
	}
	k.warned = true
	k.cfg.Log.Warn("the certificate ends soon, and clients will turn away from the daemon: put another into its place",
		slog.Time("ends", h.ends), slog.String("file", k.cfg.Cert))
}

// files is what was read.
type files struct{ cert, key, clients []byte }

func (f *files) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, part := range [][]byte{f.cert, f.key, f.clients} {
		one := sha256.Sum256(part)
		h.Write(one[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (k *Keeper) read() (f files, err error) {
	for i, to := range []*[]byte{&f.cert, &f.key, &f.clients} {
		path := []string{k.cfg.Cert, k.cfg.Key, k.cfg.ClientCA}[i]
		if path == "" && i == 2 {
			continue
		}
		var one error
		*to, one = readFile(path)
		err = errors.Join(err, one)
	}
	return f, err
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no regular file", path), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return text, err
}

// parse makes of the files what connections are made with.
func (k *Keeper) parse(f files) (*held, error) {
	pair, err := tls.X509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s with the key in %s: %w", k.cfg.Cert, k.cfg.Key, err)
	}
	h := &held{begins: pair.Leaf.NotBefore, ends: pair.Leaf.NotAfter}
	for _, der := range pair.Certificate[1:] {
		between, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("the chain in %s: %w", k.cfg.Cert, err)
		}
		if between.NotAfter.Before(h.ends) {
			h.ends = between.NotAfter
		}
	}
	h.warn = h.ends.Add(-min(soon, h.ends.Sub(h.begins)/soonPart))
	h.config = &tls.Config{MinVersion: k.cfg.Min, NextProtos: protocols(), Certificates: []tls.Certificate{pair}}
	if k.cfg.ClientCA == "" {
		return h, nil
	}
	if h.pool = x509.NewCertPool(); !h.pool.AppendCertsFromPEM(f.clients) {
		return nil, fmt.Errorf("%s holds no certificate of an authority in PEM", k.cfg.ClientCA)
	}
	h.config.ClientCAs = h.pool
	h.config.ClientAuth = tls.RequireAndVerifyClientCert
	if k.cfg.Optional {
		h.config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	// A session that goes on would show the certificate of the past to authorities of today.
	h.config.SessionTicketsDisabled = true
	return h, nil
}
