package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/segmentio/kafka-go"
)

// clusterID is formatted into the brokers' directories; any 16 bytes in base64 do.
const clusterID = "Z3JhcGhkLXRlc3RiZWQtMQ"

// KafkaConfig is what a cluster is started with. The zero config is one broker.
type KafkaConfig struct {
	Brokers int // 0 means 1
	// Properties are added to every broker's, name=value; later ones win.
	Properties []string
}

// Kafka is an Apache Kafka cluster in KRaft mode, every node broker and controller.
type Kafka struct {
	dir, jars string
	brokers   []*broker
}

type broker struct {
	addr    string
	config  string // path of server.properties
	log     string
	process *process // nil when it is down
}

// StartKafka formats a cluster in a temporary directory and starts all its brokers.
func StartKafka(ctx context.Context, cfg KafkaConfig) (*Kafka, error) {
	jars, err := KafkaJars(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := temporary("kafka")
	if err != nil {
		return nil, err
	}
	k := &Kafka{dir: dir, jars: jars}
	if err := k.create(ctx, cfg); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Kafka) create(ctx context.Context, cfg KafkaConfig) error {
	n := max(cfg.Brokers, 1)
	ports, err := freePorts(2 * n)
	if err != nil {
		return err
	}
	voters := make([]string, n)
	for i := range n {
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, ports[n+i])
	}
	for i := range n {
		home := filepath.Join(k.dir, strconv.Itoa(i+1))
		b := &broker{
			addr: "127.0.0.1:" + strconv.Itoa(ports[i]), config: filepath.Join(home, "server.properties"),
			log: filepath.Join(home, "log"),
		}
		text := properties(i+1, n, b.addr, ports[n+i], strings.Join(voters, ","), filepath.Join(home, "data"))
		text = append(text, cfg.Properties...)
		if err := os.MkdirAll(home, 0o755); err != nil {
			return fmt.Errorf("make a broker's directory: %w", err)
		}
		if err := os.WriteFile(b.config, []byte(strings.Join(text, "\n")+"\n"), 0o644); err != nil {
			return fmt.Errorf("write a broker's settings: %w", err)
		}
		if err := k.format(ctx, b); err != nil {
			return err
		}
		k.brokers = append(k.brokers, b)
	}
	return k.StartAll(ctx)
}

func properties(id, n int, addr string, controller int, voters, data string) []string {
	replicas := strconv.Itoa(n)
	return []string{
		"process.roles=broker,controller",
		"node.id=" + strconv.Itoa(id),
		"controller.quorum.voters=" + voters,
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://127.0.0.1:" + strconv.Itoa(controller),
		"advertised.listeners=PLAINTEXT://" + addr,
		"controller.listener.names=CONTROLLER",
		"inter.broker.listener.name=PLAINTEXT",
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + data,
		"num.partitions=1",
		"default.replication.factor=" + replicas,
		"auto.create.topics.enable=false", // a test names its topics; a typo must not make one
		"offsets.topic.replication.factor=" + replicas,
		"offsets.topic.num.partitions=1",
		"transaction.state.log.replication.factor=" + replicas,
		"transaction.state.log.min.isr=1",
		"transaction.state.log.num.partitions=1",
		"share.coordinator.state.topic.replication.factor=" + replicas,
		"share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
		// Small thread pools and buffers: a test's load is one client.
		"num.network.threads=1", "num.io.threads=2", "background.threads=2",
		"num.recovery.threads.per.data.dir=1", "log.cleaner.dedupe.buffer.size=2097152",
		"log.segment.delete.delay.ms=1000", "log.initial.task.delay.ms=1000", "log.cleaner.backoff.ms=500",
		"controlled.shutdown.enable=true",
	}
}

// java is the start of a command line for one of Kafka's classes, with a collector and a
// compiler that start fast.
func (k *Kafka) java(args ...string) []string {
	return append([]string{
		"java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xms64m", "-Xmx256m",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-cp", filepath.Join(k.jars, "*"),
	}, args...)
}

func (k *Kafka) format(ctx context.Context, b *broker) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	argv := k.java("kafka.tools.StorageTool", "format", "-t", clusterID, "-c", b.config)
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's storage: %w: %s", err, out)
	}
	return nil
}

// Addrs are the brokers' addresses, in the order of their ids.
func (k *Kafka) Addrs() []string {
	addrs := make([]string, len(k.brokers))
	for i, b := range k.brokers {
		addrs[i] = b.addr
	}
	return addrs
}

// Processes are the ids of the brokers' processes that run.
func (k *Kafka) Processes() (ids []int) {
	for _, b := range k.brokers {
		if b.process != nil {
			ids = append(ids, b.process.cmd.Process.Pid)
		}
	}
	return ids
}

// StartAll starts every broker that is down, and returns once all of them serve.
func (k *Kafka) StartAll(ctx context.Context) error {
	for _, b := range k.brokers {
		if err := k.launch(b); err != nil {
			return err
		}
	}
	for i := range k.brokers {
		if err := k.await(ctx, i, len(k.brokers)); err != nil {
			return err
		}
	}
	return nil
}

// Start starts broker i again on its port and data, and returns once it serves.
func (k *Kafka) Start(ctx context.Context, i int) error {
	if err := k.launch(k.brokers[i]); err != nil {
		return err
	}
	return k.await(ctx, i, 1)
}

func (k *Kafka) launch(b *broker) (err error) {
	if b.process != nil {
		return nil
	}
	b.process, err = run("Kafka", b.log, k.dir, own(), k.java("kafka.Kafka", b.config)...)
	return err
}

// await waits until broker i knows of at least n brokers, itself among them.
func (k *Kafka) await(ctx context.Context, i, n int) error {
	b := k.brokers[i]
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(b.addr), Transport: transport}
	return b.process.await(ctx, func(ctx context.Context) error {
		m, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
		if err != nil {
			return err
		}
		self := false
		for _, have := range m.Brokers {
			self = self || have.ID == i+1
		}
		if !self || len(m.Brokers) < n {
			return fmt.Errorf("%d of %d brokers are there", len(m.Brokers), n)
		}
		return nil
	})
}

// Stop shuts broker i down in order: leaders move away first.
func (k *Kafka) Stop(i int) error {
	b := k.brokers[i]
	if b.process == nil {
		return nil
	}
	err := b.process.stop(syscall.SIGTERM)
	b.process = nil
	return err
}

// Kill ends broker i as a crash would.
func (k *Kafka) Kill(i int) {
	if b := k.brokers[i]; b.process != nil {
		b.process.kill()
		b.process = nil
	}
}

// Pause stops broker i in its tracks: its connections stay open and nothing answers.
func (k *Kafka) Pause(i int) error { return pause(k.brokers[i].process.cmd.Process) }

// Resume lets a paused broker go on.
func (k *Kafka) Resume(i int) error { return resume(k.brokers[i].process.cmd.Process) }

// Close kills the brokers and removes their data: nobody will read it again.
func (k *Kafka) Close() error {
	for i := range k.brokers {
		k.Kill(i)
	}
	return os.RemoveAll(k.dir)
}
