package kafkanet

import (
	"context"
	_ "embed"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Cluster is how a declaration says to reach the brokers, for the source and the sink alike.
type Cluster struct {
	// Connection is the name that the daemon's configuration has for all of it; "" where it is declared.
	Connection string
	Brokers    []string // host:port; nil: the daemon's own
	TLS        *TLS
	SASL       *SASL // the password may be a secret
}

// Dial opens a connection to a broker.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Daemon is what a daemon has for every declaration.
type Daemon struct {
	// Brokers are those of declarations that name none.
	Brokers []string
	// Dial opens connections; nil means that anything may be dialled.
	Dial Dial
	// Named are the clusters that declarations may name, and DialNamed opens connections to one, and makes of
	// errors about it what may be told.
	Named     outbound.Named
	DialNamed func(name string) (Dial, func(error) error)
	// DialListed opens those of declarations from the network that name brokers themselves.
	DialListed Dial
	// Traced has sources take from records which spans they come from.
	Traced traced.Taking
}

// Connect is how to reach the cluster from a daemon, for a declaration at a place.
func (c *Cluster) Connect(d Daemon, at *kind.Place) (Config, error) {
	if c.Connection != "" {
		address, err := d.Named.Find(c.Connection)
		if err != nil {
			return Config{}, err
		}
		cfg, err := ParseAddress(address)
		if d.DialNamed != nil {
			cfg.Dial, cfg.Hide = d.DialNamed(c.Connection)
		}
		return cfg, err
	}
	cfg := Config{Brokers: c.Brokers, Dial: d.Dial, SASL: c.SASL, Access: at.Access}
	if at.FromNetwork() && len(c.Brokers) > 0 {
		cfg.Dial = d.DialListed
	}
	if len(cfg.Brokers) == 0 {
		cfg.Brokers = append([]string(nil), d.Brokers...)
	}
	if len(cfg.Brokers) == 0 {
		return Config{}, errNoBrokers
	}
	if c.TLS != nil {
		tls := *c.TLS
		for _, p := range []*string{&tls.CAFile, &tls.CertFile, &tls.KeyFile} {
			if *p != "" {
				*p = at.Path(*p)
			}
		}
		cfg.TLS = &tls
	}
	return cfg, nil
}

// Hosts are those of the brokers that are named.
func (c *Cluster) Hosts() (hosts []string) {
	for _, b := range c.Brokers {
		if host, _, err := net.SplitHostPort(b); err == nil {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Named is the name of the connection, and the scheme of its address.
func (c *Cluster) Named() (name, scheme string) { return c.Connection, outbound.OfCluster }

// Files are the paths of the keys and certificates, as declared.
func (c *Cluster) Files() []string {
	if c.TLS == nil {
		return nil
	}
	return []string{c.TLS.CAFile, c.TLS.CertFile, c.TLS.KeyFile}
}

// Canonical writes what the cluster's part of a configuration means.
func (c *Cluster) Canonical(t *meaning.Tree) {
	if c.Connection != "" {
		t.Text("connection", c.Connection)
	}
	if len(c.Brokers) > 0 {
		t.Text("brokers", strings.Join(c.Brokers, ","))
	}
	if c.TLS != nil {
		b := t.Branch("tls")
		b.Text("ca_file", c.TLS.CAFile)
		b.Text("cert_file", c.TLS.CertFile)
		b.Text("key_file", c.TLS.KeyFile)
		b.Text("server_name", c.TLS.ServerName)
	}
	if c.SASL != nil {
		b := t.Branch("sasl")
		b.Text("mechanism", c.SASL.Mechanism)
		b.Hidden("username", strconv.Quote(c.SASL.Username))
		b.Secret("password", c.SASL.Password)
	}
}

var (
	mechanisms = decode.Choice{Words: Mechanisms()}

	tlsFields = []decode.Field[TLS]{
		{Name: "ca_file", Read: func(d *decode.Decoder, v decode.Value, t *TLS) {
			t.CAFile, _ = d.Text(v, "the path of a file")
		}},
		{Name: "cert_file", Read: func(d *decode.Decoder, v decode.Value, t *TLS) {
			t.CertFile, _ = d.Text(v, "the path of a file")
		}},
		{Name: "key_file", Read: func(d *decode.Decoder, v decode.Value, t *TLS) {
			t.KeyFile, _ = d.Text(v, "the path of a file")
		}},
		{Name: "server_name", Read: func(d *decode.Decoder, v decode.Value, t *TLS) {
			t.ServerName, _ = d.Text(v, "the name in the brokers' certificates")
		}},
	}
	saslFields = []decode.Field[SASL]{
		{Name: "mechanism", Read: func(d *decode.Decoder, v decode.Value, s *SASL) {
			d.Pick(v, mechanisms, &s.Mechanism)
		}},
		{Name: "username", Need: true, Read: func(d *decode.Decoder, v decode.Value, s *SASL) {
			s.Username, _ = d.Text(v.Secret(), "a user's name")
		}},
		{Name: "password", Need: true, Read: func(d *decode.Decoder, v decode.Value, s *SASL) {
			s.Password, _ = d.Text(v.Secret(), "a password")
		}},
	}

	//go:embed schema.json
	definitions string
)

// Definitions are those of the JSON Schema that the source and the sink share.
func Definitions() decode.Definitions {
	return decode.Define(definitions, decode.MappingOf("kafka_tls", tlsFields, nil),
		decode.MappingOf("kafka_sasl", saslFields, decode.Choices{"mechanism": mechanisms}))
}

// BrokersField is the field brokers of whatever has a cluster.
func BrokersField[T any](cluster func(*T) *Cluster) decode.Field[T] {
	return decode.Field[T]{Name: "brokers", Read: func(d *decode.Decoder, v decode.Value, into *T) {
		cluster(into).Brokers = readBrokers(d, v)
	}}
}

// ConnectionField is the field connection of whatever has a cluster.
func ConnectionField[T any](cluster func(*T) *Cluster) decode.Field[T] {
	return decode.Field[T]{Name: "connection", Read: func(d *decode.Decoder, v decode.Value, into *T) {
		cluster(into).Connection = d.NameOf(v, "connection")
	}}
}

// CheckConnection looks at the fields of a cluster together.
func CheckConnection(d *decode.Decoder, got decode.Given) {
	if _, ok := got["connection"]; !ok {
		return
	}
	for _, name := range []string{"brokers", "tls", "sasl"} {
		if v, ok := got[name]; ok {
			d.Report(v.Name(), decode.CodeConflict, "",
				"the connection has %s of its own; remove one of them", name)
		}
	}
}

// TLSField is the field tls of whatever has a cluster.
func TLSField[T any](cluster func(*T) *Cluster) decode.Field[T] {
	return decode.Field[T]{Name: "tls", Read: func(d *decode.Decoder, v decode.Value, into *T) {
		cluster(into).TLS = readTLS(d, v)
	}}
}

// SASLField is the field sasl of whatever has a cluster.
func SASLField[T any](cluster func(*T) *Cluster) decode.Field[T] {
	return decode.Field[T]{Name: "sasl", Read: func(d *decode.Decoder, v decode.Value, into *T) {
		s := &SASL{Mechanism: mechanisms.Default()}
		decode.Object(d, v, "sasl", saslFields, s)
		cluster(into).SASL = s
	}}
}

// maxBrokers bounds a list of addresses to begin with.
const maxBrokers = 256

// readBrokers reads addresses: a list, or one text with commas.
func readBrokers(d *decode.Decoder, v decode.Value) (list []string) {
	const want = "a broker's address, host:port, or a list of them"
	for _, item := range d.OneOrMore(v, maxBrokers, want) {
		s, ok := d.Text(item, want)
		if !ok {
			continue
		}
		for addr := range strings.SplitSeq(s, ",") {
			addr = strings.TrimSpace(addr)
			host, port, err := net.SplitHostPort(addr)
			if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
				d.Report(item.Here(), decode.CodeBadValue, "", "expected %s, found %s", want, item.Described())
				break
			}
			list = append(list, addr)
		}
	}
	if v.IsList() {
		d.AsWritten(v)
	}
	return list
}

// readTLS reads what TLS needs; {} is all that the system's own authorities need.
func readTLS(d *decode.Decoder, v decode.Value) *TLS {
	t := &TLS{}
	got, ok := decode.Object(d, v, "tls", tlsFields, t)
	cert, hasCert := got["cert_file"]
	key, hasKey := got["key_file"]
	if ok && hasCert != hasKey {
		if hasKey {
			cert = key
		}
		d.Report(cert.Name(), decode.CodeMissingField, "",
			"a client certificate needs both cert_file and key_file; add the other")
	}
	return t
}

// ReadTopic reads the name of one topic.
func ReadTopic(d *decode.Decoder, v decode.Value) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	s, ok := d.Text(v, "the name of a topic")
	if ok && (len(s) > 249 || s == "." || s == ".." || strings.Trim(s, letters) != "") {
		d.Report(v.Here(), decode.CodeBadName, "",
			"%s cannot be the name of a topic: a name has letters, digits, ., _ and -, at most 249", v.Shown())
		return ""
	}
	return s
}

// errNoBrokers is of a declaration and a daemon that both name none.
var errNoBrokers = errors.New("no Kafka brokers are known: " +
	"name them in the declaration, brokers: host:port, or ask the operator of the daemon to set kafka_brokers")
