package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/testbed/server"
	"github.com/graphd/graphd/internal/testbed/stall"
)

// F21: leaders move, connections break, brokers answer with errors: nothing is lost or
// doubled, the order stays, and the source is live again at the end.
func TestF21Faults(t *testing.T) {
	c := fake(t, kfake.NumBrokers(3), kfake.SeedTopics(4, "t"))
	addrs := c.ListenAddrs()
	f := read(t, config(addrs, "t"))
	f.says(t, accumulator.Live, 1)
	p := client(t, addrs)
	want := map[string][]string{}
	for round := range 12 {
		switch round % 4 {
		case 1:
			c.ShufflePartitionLeaders()
		case 2:
			n := 0
			c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if n++; n >= 3 {
					c.DropControl()
				}
				return nil, kfakeCut, true // the connection breaks
			})
		case 3:
			c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
				return refuseFetch(req.(*kmsg.FetchRequest), kerr.LeaderNotAvailable.Code), nil, true
			})
		}
		for id := range 4 {
			values := numbers(round*20, round*20+20)
			put(t, p, "t", id, values...)
			want[streamOf("t", id)] = append(want[streamOf("t", id)], values...)
		}
	}
	f.count(t, 12*20*4)
	for stream, w := range want {
		wantTexts(t, f.of(stream), w...)
	}
	if !slices.Contains(f.Said(), accumulator.Disconnected) {
		t.Error("no fault was seen: the test has shown nothing")
	}
	f.until(t, "live", func() bool { said := f.Said(); return said[len(said)-1] == accumulator.Live })
}

var kfakeCut = net.ErrClosed

// refuseFetch answers all partitions of a fetch with an error.
func refuseFetch(req *kmsg.FetchRequest, code int16) kmsg.Response {
	res := req.ResponseKind().(*kmsg.FetchResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		res.Topics = append(res.Topics, rt)
	}
	return res
}

// M2: a broker that goes away is said at once, and so is its return; a topic that is not
// there is waited for.
func TestM2Disconnected(t *testing.T) {
	c := fake(t)
	f := read(t, config(c.ListenAddrs(), "later"))
	f.says(t, accumulator.Disconnected, 1)
	if err := c.CreateTopic("later", 1, nil); err != nil {
		t.Fatal(err)
	}
	f.says(t, accumulator.Live, 1)
	lost, control := f.said(accumulator.Disconnected), stall.Begin()
	c.Close()
	f.says(t, accumulator.Disconnected, lost+1)
	control.End().Within(t, "a loss is said", 2*time.Second)
	g := read(t, config([]string{"127.0.0.1:1"}, "t"))
	g.says(t, accumulator.Disconnected, 1)
}

// M4: held back, the source asks for no more than one answer ahead, and goes on, without
// loss, however long it took.
func TestM4HeldBack(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	addrs := c.ListenAddrs()
	p := client(t, addrs, kgo.ProducerBatchCompression(kgo.NoCompression()))
	big := make([]string, 12)
	for i := range big {
		big[i] = `"` + string(make([]byte, 900_000)) + `"`
		put(t, p, "t", 0, big[i])
	}
	fetches := make(chan struct{}, 100)
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		fetches <- struct{}{}
		return nil, nil, false
	})
	r := &receiver{}
	r.Block, r.Blocked = 2, make(chan struct{})
	f := readSource(t, newSource(t, config(addrs, "t")), r)
	<-r.Blocked
	<-time.After(2 * time.Second) // far longer than what it would take to read all
	if n := len(fetches); n > 4 {
		t.Errorf("%d requests while reading was held back", n)
	}
	if err := f.end(); err != nil {
		t.Error(err)
	}
	g := read(t, config(addrs, "t"), f.Items()[1].Pos)
	g.count(t, 10)
	if p := g.Items()[0].Pos.Offset; p != 3 {
		t.Errorf("went on with offset %d", p)
	}
}

// F21 on the real server: a broker that is stopped, killed, and paused until its clients
// give up: nothing lost or doubled, live again each time.
func TestF21RealBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts a broker")
	}
	k := testbed.OwnKafka(t, server.KafkaConfig{})
	addrs := k.Addrs()
	topic := testbed.Topic(t, addrs, 2)
	p := client(t, addrs)
	f := read(t, config(addrs, topic))
	f.says(t, accumulator.Live, 1)
	faults := []func(){
		func() {
			if err := k.Stop(0); err != nil {
				t.Error(err)
			}
		},
		func() { k.Kill(0) },
		func() {
			if err := k.Pause(0); err != nil {
				t.Fatal(err)
			}
		},
	}
	for round, fault := range faults {
		put(t, p, topic, 0, numbers(round*10, round*10+10)...)
		put(t, p, topic, 1, numbers(round*10, round*10+10)...)
		f.count(t, round*20+20)
		lost, live := f.said(accumulator.Disconnected), f.said(accumulator.Live)
		fault()
		f.says(t, accumulator.Disconnected, lost+1)
		if round < 2 {
			if err := k.Start(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		} else if err := k.Resume(0); err != nil {
			t.Fatal(err)
		}
		f.says(t, accumulator.Live, live+1)
	}
	put(t, p, topic, 0, "end")
	f.count(t, 61)
	wantTexts(t, f.of(topic+"/0"), append(numbers(0, 30), "end")...)
	wantTexts(t, f.of(topic+"/1"), numbers(0, 30)...)
}

// authority makes a certificate for localhost and the file of who signed it.
func authority(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{
			net.IPv4(127, 0, 0, 1),
		},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// TLS and SASL together: with the right authority and password it reads; without either it
// says that it cannot, and goes on trying.
func TestTLSAndSASL(t *testing.T) {
	cert, ca := authority(t)
	c := fake(t, kfake.SeedTopics(1, "t"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}),
		kfake.EnableSASL(),
		kfake.Superuser("PLAIN", "anna", "secret"), kfake.Superuser("SCRAM-SHA-256", "bert", "secret"),
		kfake.Superuser("SCRAM-SHA-512", "cleo", "secret"))
	pemCA, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pemCA)
	p := client(t, c.ListenAddrs(), kgo.DialTLSConfig(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}),
		kgo.SASL(scram.Auth{User: "cleo", Pass: "secret"}.AsSha512Mechanism()))
	put(t, p, "t", 0, "a")
	for _, x := range []struct {
		mechanism, user, password string
		tls                       *kafkanet.TLS
		want                      accumulator.Health
	}{
		{"plain", "anna", "secret", &kafkanet.TLS{CAFile: ca}, accumulator.Live},
		{"scram-sha-256", "bert", "secret", &kafkanet.TLS{CAFile: ca}, accumulator.Live},
		{"scram-sha-512", "cleo", "secret", &kafkanet.TLS{CAFile: ca}, accumulator.Live},
		{"scram-sha-512", "cleo", "wrong", &kafkanet.TLS{CAFile: ca}, accumulator.Disconnected},
		{"plain", "anna", "wrong", &kafkanet.TLS{CAFile: ca}, accumulator.Disconnected},
		{"plain", "anna", "secret", &kafkanet.TLS{}, accumulator.Disconnected},
		{"plain", "anna", "secret", &kafkanet.TLS{CAFile: ca, ServerName: "elsewhere"}, accumulator.Disconnected},
		{"plain", "anna", "secret", nil, accumulator.Disconnected},
	} {
		cfg := config(c.ListenAddrs(), "t")
		cfg.TLS, cfg.SASL = x.tls, &kafkanet.SASL{Mechanism: x.mechanism, Username: x.user, Password: x.password}
		f := read(t, cfg)
		if f.says(t, x.want, 1); x.want == accumulator.Live {
			f.count(t, 1)
		}
		if err := f.end(); err != nil {
			t.Errorf("%v: %v", x, err)
		}
	}
}
