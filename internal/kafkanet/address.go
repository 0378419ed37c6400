package kafkanet

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// errAddress holds nothing of an address, in which there may be a password.
var errAddress = errors.New("name a Kafka cluster as kafka://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…], with the " +
	"parameters tls=true, ca_file, cert_file, key_file, server_name and mechanism where they are needed")

// ParseAddress reads the address of a cluster, as the daemon's configuration has it.
func ParseAddress(address string) (Config, error) {
	rest, ok := strings.CutPrefix(address, "kafka://")
	if !ok {
		return Config{}, errAddress
	}
	at := strings.LastIndex(rest, "@")
	hosts, query, _ := strings.Cut(rest[at+1:], "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		return Config{}, errAddress
	}
	cfg := Config{Brokers: strings.Split(strings.TrimSuffix(hosts, "/"), ",")}
	tls := TLS{
		CAFile: params.Get("ca_file"), CertFile: params.Get("cert_file"), KeyFile: params.Get("key_file"),
		ServerName: params.Get("server_name"),
	}
	if tls != (TLS{}) || params.Get("tls") == "true" {
		cfg.TLS = &tls
	}
	for name := range params {
		if !slices.Contains([]string{"tls", "ca_file", "cert_file", "key_file", "server_name", "mechanism"}, name) {
			return Config{}, errAddress
		}
	}
	if at >= 0 {
		u, err := url.Parse("kafka://" + rest[:at+1] + "host")
		if err != nil {
			return Config{}, errAddress
		}
		password, _ := u.User.Password()
		cfg.SASL = &SASL{Mechanism: params.Get("mechanism"), Username: u.User.Username(), Password: password}
		if cfg.SASL.Mechanism == "" {
			cfg.SASL.Mechanism = mechanisms.Default()
		}
	}
	if cfg.Validate() != nil {
		return Config{}, errAddress
	}
	return cfg, nil
}
