// Package testbed gives tests the real servers they run against: PostgreSQL and Apache Kafka.
//
// A shared server is named by an environment variable, which `make test` sets for all
// packages of a run and `make testbed` for a developer's shell. A test that finds none is
// skipped; the run says at its end which were, by name. Tests that must stop, kill or
// configure a server start one of their own.
//
//	func TestUpsert(t *testing.T) {
//		dsn := testbed.Postgres(t) // an empty database of this test's own
//		…
//	}
//
// # Concurrency
//
// All functions may be called by parallel tests.
package testbed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/testbed/server"
)

// The variables that name the shared servers, and what becomes of tests without one.
const (
	// EnvPostgres is the DSN of a server on which the user may create databases.
	EnvPostgres = "GRAPHD_TEST_POSTGRES"
	// EnvKafka is a list of brokers, separated by commas.
	EnvKafka = "GRAPHD_TEST_KAFKA"
	// EnvSkipped is a file to which every test that is skipped for want of a server appends its name.
	EnvSkipped = "GRAPHD_TEST_SKIPPED"
	// EnvRequire, when not empty, makes a test that lacks its server fail.
	EnvRequire = "GRAPHD_TEST_REQUIRE"
)

// patience bounds what a test asks of a server in its preparation.
const patience = 30 * time.Second

// Lacking ends a test that lacks a program, such as an interpreter: it is skipped as one without its server is.
func Lacking(t testing.TB, why string) {
	t.Helper()
	skip(t, why)
}

// Unasked ends a test that runs where it is asked for alone: it is named among those that were skipped, and is nothing
// that a machine lacks.
func Unasked(t testing.TB, why string) {
	t.Helper()
	named(t, why)
}

// skip ends a test that lacks a server.
func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(EnvRequire) != "" {
		t.Fatalf("%s, and %s forbids to skip", why, EnvRequire)
	}
	named(t, why)
}

// named ends a test, and has the run name it at its end.
func named(t testing.TB, why string) {
	t.Helper()
	if path := os.Getenv(EnvSkipped); path != "" {
		if err := note(path, t.Name()+": "+why); err != nil {
			t.Fatalf("note the skipped test: %v", err)
		}
	}
	t.Skip(why)
}

// note appends a line to a file that several processes write to.
func note(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// unique is a name that no other test has: the beginning of the test's own, for people,
// and a random end.
func unique(t testing.TB) string {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(t.Name()))
	return name[:min(len(name), 40)] + "_" + strings.ToLower(rand.Text()[:10])
}

// Postgres makes an empty database on the shared server and answers its DSN. The
// database is dropped when the test ends, whoever is still connected.
func Postgres(t testing.TB) string {
	t.Helper()
	admin := os.Getenv(EnvPostgres)
	if admin == "" {
		skip(t, "no PostgreSQL: "+EnvPostgres+" is not set; `make testbed` starts one")
	}
	return database(t, admin)
}

// database makes a database for a test.
func database(t testing.TB, admin string) string {
	t.Helper()
	name := unique(t)
	do := func(sql string) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := pgx.Connect(ctx, admin)
		if err != nil {
			return fmt.Errorf("connect to the PostgreSQL of %s: %w", EnvPostgres, err)
		}
		_, err = c.Exec(ctx, sql)
		return errors.Join(err, c.Close(ctx))
	}
	if err := do("create database " + pgx.Identifier{name}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := do("drop database if exists " + pgx.Identifier{name}.Sanitize() + " with (force)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	cfg, err := pgx.ParseConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	return dsn(cfg, name)
}

// dsn is a server's address with another database.
func dsn(cfg *pgx.ConnConfig, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(cfg.User), Path: "/" + database}
	if cfg.Password != "" {
		u.User = url.UserPassword(cfg.User, cfg.Password)
	}
	q := url.Values{}
	if strings.HasPrefix(cfg.Host, "/") { // the directory of a local socket
		q.Set("host", cfg.Host)
		q.Set("port", strconv.Itoa(int(cfg.Port)))
	} else {
		u.Host = net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	}
	if cfg.TLSConfig == nil {
		q.Set("sslmode", "disable")
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// OwnPostgres starts a server that is the test's alone, to be stopped and killed at will.
// options are settings, name=value. The test is skipped where PostgreSQL is not installed.
func OwnPostgres(t testing.TB, options ...string) *server.Postgres {
	t.Helper()
	p, err := server.StartPostgres(context.WithoutCancel(t.Context()), options...)
	ready(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close PostgreSQL: %v", err)
		}
	})
	return p
}

// OwnKafka starts a cluster that is the test's alone. The test is skipped where Java is
// not installed.
func OwnKafka(t testing.TB, cfg server.KafkaConfig) *server.Kafka {
	t.Helper()
	k, err := server.StartKafka(context.WithoutCancel(t.Context()), cfg)
	ready(t, err)
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("close Kafka: %v", err)
		}
	})
	return k
}

// ready ends the test when its own server could not be started.
func ready(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, server.ErrMissing) {
		skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Kafka answers the addresses of the shared brokers.
func Kafka(t testing.TB) []string {
	t.Helper()
	addrs := os.Getenv(EnvKafka)
	if addrs == "" {
		skip(t, "no Kafka: "+EnvKafka+" is not set; `make testbed` starts one")
	}
	return strings.Split(addrs, ",")
}

// Topic makes a topic of the test's own on the brokers and answers its name. It is deleted
// when the test ends. settings are the topic's, name=value.
func Topic(t testing.TB, brokers []string, partitions int, settings ...string) string {
	t.Helper()
	name := unique(t)
	topic := kafka.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: len(brokers)}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: key, ConfigValue: value})
	}
	CreateTopic(t, brokers, topic)
	t.Cleanup(func() { deleteTopic(brokers, name) })
	return name
}

// CreateTopic makes a topic and waits until its partitions have leaders.
func CreateTopic(t testing.TB, brokers []string, topic kafka.TopicConfig) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	client, done := admin(brokers)
	defer done()
	for tries := 0; ; tries++ {
		res, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
		if err == nil {
			err = res.Errors[topic.Topic]
		}
		if err == nil || tries > 0 && errors.Is(err, kafka.TopicAlreadyExists) {
			break
		}
		// On a loaded machine a broker may lose its controller for a moment.
		select {
		case <-ctx.Done():
			t.Fatalf("create topic %s: %v", topic.Topic, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	awaitLeaders(ctx, t, client, topic)
}

// GrowTopic gives a topic more partitions, to in all, and waits until they have leaders.
func GrowTopic(t testing.TB, brokers []string, name string, to int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	client, done := admin(brokers)
	defer done()
	for {
		res, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: name, Count: int32(to)}},
		})
		if err == nil {
			err = res.Errors[name]
		}
		// A broker that has lost its controller for a moment may have done what it does not answer.
		if err == nil || errors.Is(err, kafka.InvalidPartitionNumber) {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("give topic %s %d partitions: %v", name, to, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	awaitLeaders(ctx, t, client, kafka.TopicConfig{Topic: name, NumPartitions: to})
}

// awaitLeaders waits until all partitions of the topic have leaders that know it.
func awaitLeaders(ctx context.Context, t testing.TB, client *kafka.Client, topic kafka.TopicConfig) {
	t.Helper()
	for {
		m, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic.Topic}})
		if err == nil && led(m.Topics, max(topic.NumPartitions, 1)) && serves(ctx, client, topic) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("topic %s has no leaders: %v", topic.Topic, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// led reports whether the one topic has n partitions, all with a leader.
func led(topics []kafka.Topic, n int) bool {
	if len(topics) != 1 || topics[0].Error != nil || len(topics[0].Partitions) != n {
		return false
	}
	for _, p := range topics[0].Partitions {
		if p.Error != nil || p.Leader.Host == "" {
			return false
		}
	}
	return true
}

// serves reports whether the leaders of all partitions know that they are: they learn it
// after the others do.
func serves(ctx context.Context, client *kafka.Client, topic kafka.TopicConfig) bool {
	var ask []kafka.OffsetRequest
	for i := range max(topic.NumPartitions, 1) {
		ask = append(ask, kafka.LastOffsetOf(i))
	}
	res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic.Topic: ask},
	})
	if err != nil || len(res.Topics[topic.Topic]) != len(ask) {
		return false
	}
	for _, p := range res.Topics[topic.Topic] {
		if p.Error != nil {
			return false
		}
	}
	return true
}

// DeleteTopic removes a topic and waits until it is gone, so that one of the same name can be made.
func DeleteTopic(t testing.TB, brokers []string, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	client, done := admin(brokers)
	defer done()
	for {
		res, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
		if err == nil && errors.Is(res.Errors[name], kafka.UnknownTopicOrPartition) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("delete topic %s: %v", name, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Produce writes values to one partition of a topic, acknowledged by all its brokers.
func Produce(t testing.TB, brokers []string, topic string, partition int, values ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	client, done := admin(brokers)
	defer done()
	records := make([]kafka.Record, len(values))
	for i, v := range values {
		records[i].Value = kafka.NewBytes([]byte(v))
	}
	res, err := client.Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(records...),
	})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		t.Fatalf("write to %s/%d: %v", topic, partition, err)
	}
}

// deleteTopic removes a topic. A server that is gone has taken it along.
func deleteTopic(brokers []string, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, done := admin(brokers)
	defer done()
	_, _ = client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
}

// admin is a client that sees changes at once. done closes its connections.
func admin(brokers []string) (client *kafka.Client, done func()) {
	transport := &kafka.Transport{MetadataTTL: 50 * time.Millisecond, DialTimeout: 5 * time.Second}
	return &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport}, transport.CloseIdleConnections
}
