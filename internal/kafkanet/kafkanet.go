// Package kafkanet connects to a Kafka cluster, for the source and the sink alike: with or
// without TLS, with or without SASL, and so that everything it opened is closed at the end.
//
// # Concurrency
//
// A Client is safe for concurrent use. The client library beneath it has goroutines of its
// own, one per connection; Close breaks all connections, upon which they end.
package kafkanet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/policy"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Config says how to reach a cluster.
type Config struct {
	// Brokers are addresses to begin with, host:port; the cluster tells the others.
	Brokers []string
	// TLS is nil for connections in the clear.
	TLS *TLS
	// SASL is nil for connections without a user.
	SASL *SASL
	// Dial opens connections, to the brokers named and to those that the cluster tells; nil
	// means that anything may be dialled.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Hide makes of an error what may be told of it; nil is the error itself.
	Hide func(error) error
	// Access reads the files of TLS; nil denies nothing.
	Access *policy.Policy
	// Traced has a record's traceparent taken for where its event comes from.
	Traced traced.Taking
}

// TLS says how connections are encrypted. The zero TLS trusts the system's authorities.
type TLS struct {
	CAFile   string // trust these authorities instead, PEM
	CertFile string // the client's own certificate, PEM; with KeyFile
	KeyFile  string
	// ServerName is the name that the brokers' certificates must have; "" means that of the address.
	ServerName string
}

// SASL says who the client is.
type SASL struct {
	Mechanism          string // "plain", "scram-sha-256" or "scram-sha-512"
	Username, Password string
}

// Mechanisms are the SASL mechanisms there are.
func Mechanisms() []string { return []string{"plain", "scram-sha-256", "scram-sha-512"} }

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, errors.New("brokers are missing: name at least one, host:port"))
	}
	for _, b := range c.Brokers {
		if err := outbound.CheckHostPort(b); err != nil {
			errs = append(errs, fmt.Errorf("broker %w", err))
		}
	}
	if c.TLS != nil && (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		errs = append(errs, errors.New("a client certificate needs both cert_file and key_file"))
	}
	if c.SASL != nil && !slices.Contains(Mechanisms(), c.SASL.Mechanism) {
		errs = append(errs, fmt.Errorf("sasl mechanism %q is not known: use one of %s", c.SASL.Mechanism,
			strings.Join(Mechanisms(), ", ")))
	}
	return errors.Join(errs...)
}

// DialTimeout bounds one connection's opening, with its handshakes.
const DialTimeout = 5 * time.Second

// ClientID is who the brokers see, in their logs and quotas.
const ClientID = "graphd"

// metadataTTL bounds how long it may take until a moved leader or a new partition is seen.
const metadataTTL = time.Second

// Client speaks to one cluster about some topics.
type Client struct {
	*kafka.Client
	transport *kafka.Transport
	stop      context.CancelFunc
	hide      func(error) error
	open      func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	conns  map[net.Conn]struct{} // nil once closed
	closed bool
}

// New makes a Client; it connects when it is first used. It reads the files that the
// configuration names.
func New(cfg Config, topics []string) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	// Cancelled by Close, so that what the library does in the background ends then.
	ctx, stop := context.WithCancel(context.Background())
	c := &Client{stop: stop, hide: cfg.Hide, open: cfg.Dial, conns: make(map[net.Conn]struct{})}
	if c.open == nil {
		c.open = (&net.Dialer{Timeout: DialTimeout}).DialContext
	}
	c.transport = &kafka.Transport{
		Dial: c.dial, DialTimeout: DialTimeout, MetadataTTL: metadataTTL, MetadataTopics: topics,
		ClientID: ClientID, Context: ctx,
	}
	var err error
	if c.transport.TLS, err = cfg.TLS.config(cfg.Access); err == nil {
		c.transport.SASL, err = cfg.SASL.mechanism()
	}
	if err != nil {
		stop()
		return nil, err
	}
	c.Client = &kafka.Client{Addr: kafka.TCP(cfg.Brokers...), Transport: c.transport}
	return c, nil
}

func (t *TLS) config(access *policy.Policy) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	out := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := access.Read(t.CAFile, maxPEM)
		if err != nil {
			return nil, fmt.Errorf("read the authorities of tls.ca_file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca_file %s holds no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := pair(access, t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate: %w", err)
		}
		out.Certificates = []tls.Certificate{cert}
	}
	return out, nil
}

// maxPEM bounds a file of keys or certificates.
const maxPEM = 1 << 20

// pair reads a certificate and its key.
func pair(access *policy.Policy, certFile, keyFile string) (tls.Certificate, error) {
	cert, err := access.Read(certFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := access.Read(keyFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func (s *SASL) mechanism() (sasl.Mechanism, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Mechanism {
	case "scram-sha-256":
		return scram.Mechanism(scram.SHA256, s.Username, s.Password)
	case "scram-sha-512":
		return scram.Mechanism(scram.SHA512, s.Username, s.Password)
	}
	return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
}

// dial opens a connection that Close can break.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.open(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close() // nothing was said on it
		return nil, net.ErrClosed
	}
	own := &tracked{Conn: conn, client: c}
	c.conns[own] = struct{}{}
	return own, nil
}

// Hide is an error as it may be told: without the address of a cluster that has a name in the configuration.
func (c *Client) Hide(err error) error {
	if err == nil || c.hide == nil {
		return err
	}
	return c.hide(err)
}

// tracked is a connection that is forgotten when it is closed.
type tracked struct {
	net.Conn
	client *Client
}

func (t *tracked) Close() error {
	t.client.mu.Lock()
	delete(t.client.conns, t)
	t.client.mu.Unlock()
	return t.Conn.Close()
}

// Close breaks all connections; what is asked of the cluster still fails. Twice does nothing.
func (c *Client) Close() {
	c.stop()
	c.transport.CloseIdleConnections()
	c.mu.Lock()
	c.closed = true
	open := c.conns
	c.conns = nil
	c.mu.Unlock()
	for conn := range open {
		_ = conn.(*tracked).Conn.Close()
	}
}

// Backoff is how long to wait after so many failures in a row: from 100 ms, doubling, at
// most 5 s, and up to a quarter less, so that not all come back at once.
func Backoff(failures int) time.Duration {
	const least, most = 100 * time.Millisecond, 5 * time.Second
	d := most
	if failures < 7 {
		d = min(least<<max(failures-1, 0), most)
	}
	return d - rand.N(d/4+1)
}
