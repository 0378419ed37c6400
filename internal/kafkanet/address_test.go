package kafkanet

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	c, err := ParseAddress("kafka://u%40x:p%2Fw@b1:9092,b2:9093?mechanism=scram-sha-512&ca_file=/ca.pem&server_name=b")
	if err != nil || strings.Join(c.Brokers, " ") != "b1:9092 b2:9093" || c.SASL == nil || c.TLS == nil ||
		*c.SASL != (SASL{"scram-sha-512", "u@x", "p/w"}) || *c.TLS != (TLS{CAFile: "/ca.pem", ServerName: "b"}) {
		t.Errorf("got %+v, %v", c, err)
	}
	for address, tls := range map[string]bool{"kafka://b:1": false, "kafka://b:1/?tls=true": true} {
		if c, err := ParseAddress(address); err != nil || c.SASL != nil || (c.TLS != nil) != tls {
			t.Errorf("%s: got %+v, %v", address, c, err)
		}
	}
	for _, address := range []string{
		"", "b:1", "kafka://", "kafka://b", "kafka://u:hunter2@b", "kafka://u:hunter2@b:1?tsl=true",
		"kafka://u:hunter2%zz@b:1", "kafka://u:hunter2@b:1?mechanism=none", "kafka://u:hunter2@b:1?key_file=/k",
	} {
		if _, err := ParseAddress(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}
