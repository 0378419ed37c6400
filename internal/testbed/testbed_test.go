package testbed

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/testbed/server"
)

// Each test has an empty database of its own, on the shared server.
func TestPostgres(t *testing.T) {
	a, b := Postgres(t), Postgres(t)
	for _, dsn := range []string{a, b} {
		c, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(t.Context(), "create table t (n int)"); err != nil {
			t.Errorf("the database is not the test's own: %v", err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A server of one's own keeps what was committed over a stop and a kill.
func TestOwnPostgres(t *testing.T) {
	p := OwnPostgres(t)
	ask := func(sql string) (n int) {
		c, err := pgx.Connect(t.Context(), p.DSN())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	c, err := pgx.Connect(t.Context(), p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), "create table t as select 1 as n"); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(){func() { _ = p.Stop() }, func() { _ = p.StopImmediate() }, p.Kill} {
		end()
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := ask("select count(*) from t"); n != 1 {
			t.Errorf("%d rows are left of 1", n)
		}
	}
}

// produce writes one record to partition 0, in as much time as a broker takes to lead after a start.
func produce(t *testing.T, addr, topic, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	w := &kafka.Writer{Addr: kafka.TCP(addr), Topic: topic, BatchSize: 1, RequiredAcks: kafka.RequireAll,
		MaxAttempts: 1000}
	defer w.Close()
	if err := w.WriteMessages(ctx, kafka.Message{Value: []byte(text)}); err != nil {
		t.Fatal(err)
	}
}

// consume reads n records of partition 0, in as much time as produce has.
func consume(t *testing.T, addr, topic string, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	var all []string
	for range n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(m.Value))
	}
	return strings.Join(all, " ")
}

// The shared broker is a real one: what is written to a topic of the test's own is read.
func TestKafka(t *testing.T) {
	brokers := Kafka(t)
	topic := Topic(t, brokers, 2)
	produce(t, brokers[0], topic, "a")
	produce(t, brokers[0], topic, "b")
	if got := consume(t, brokers[0], topic, 1); got != "a" && got != "b" {
		t.Errorf("got %q", got)
	}
}

// A broker of one's own keeps its records over a stop and a kill.
func TestOwnKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a broker three times")
	}
	k := OwnKafka(t, server.KafkaConfig{})
	topic := Topic(t, k.Addrs(), 1)
	produce(t, k.Addrs()[0], topic, "a")
	if err := k.Stop(0); err != nil {
		t.Fatal(err)
	}
	if err := k.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	produce(t, k.Addrs()[0], topic, "b")
	k.Kill(0)
	if err := k.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := consume(t, k.Addrs()[0], topic, 2); got != "a b" {
		t.Errorf("got %q", got)
	}
}

// A test without its server is skipped and says so, and fails where skipping is forbidden.
func TestSkipIsNoted(t *testing.T) {
	t.Setenv(EnvKafka, "")
	t.Setenv(EnvRequire, "")
	path := t.TempDir() + "/skipped"
	t.Setenv(EnvSkipped, path)
	t.Run("lacking", func(t *testing.T) {
		Kafka(t)
		t.Error("goes on without a server")
	})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "TestSkipIsNoted/lacking: no Kafka"; !strings.HasPrefix(string(text), want) {
		t.Errorf("noted %q, want %q", text, want)
	}
}

// Names made of test names are unique, and fit for databases and topics.
func TestUnique(t *testing.T) {
	t.Run("Grün & Ähnlich/x", func(t *testing.T) {
		a, b := unique(t), unique(t)
		if a == b || strings.Trim(a, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || len(a) > 63 {
			t.Errorf("%q, %q", a, b)
		}
	})
}

// The address of another database is that of the server but for the name.
func TestDSN(t *testing.T) {
	for admin, want := range map[string]string{
		"postgres://u:p%40ss@h:1/x?sslmode=disable": "postgres://u:p%40ss@h:1/db?sslmode=disable",
		"host=/run/pg user=u port=2 dbname=x":       "postgres://u@/db?host=%2Frun%2Fpg&port=2&sslmode=disable",
	} {
		cfg, err := pgx.ParseConfig(admin)
		if err != nil {
			t.Fatal(err)
		}
		if got := dsn(cfg, "db"); got != want {
			t.Errorf("%s: got %s, want %s", admin, got, want)
		}
	}
}
