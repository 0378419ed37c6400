package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/graphd/graphd/internal/testbed/server"
)

// config is what is measured.
type config struct {
	graphd  string
	events  int
	rounds  int
	taskset string // its path; "" where it is not there
	// only is the name of the one contender that is measured, profiles where a profile of its first member goes; "" for
	// all of them, and for none.
	only, profiles string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "members:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "model":
			return modelCommand(args[1:], os.Stdout)
		case "rest":
			return restCommand(ctx, args[1:], os.Stdout)
		}
	}
	var c config
	flags := flag.NewFlagSet("members", flag.ExitOnError)
	flags.StringVar(&c.graphd, "graphd", filepath.Join("bin", "graphd"), "the binary to measure")
	flags.IntVar(&c.events, "events", 2_000_000, "records of the topic")
	flags.IntVar(&c.rounds, "n", 3, "how many rounds; medians are reported")
	flags.StringVar(&c.only, "only", "", "the one contender to measure, by its name, and its times alone")
	flags.StringVar(&c.profiles, "profiles", "", "write profiles of the first member of each to this directory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.events < shards || c.rounds < 1 {
		return fmt.Errorf("-events must be at least %d and -n at least 1", shards)
	}
	path, err := filepath.Abs(c.graphd) // the daemons run elsewhere
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("find the daemon, which make build makes: %w", err)
	}
	c.graphd = path
	if path, err := exec.LookPath("taskset"); err == nil {
		c.taskset = path
	}
	return c.measure(ctx)
}

// measure has all contenders take turns on one broker and one database server.
func (c *config) measure(ctx context.Context) (err error) {
	k, err := server.StartKafka(ctx, server.KafkaConfig{})
	if err != nil {
		return fmt.Errorf("start Kafka: %w", err)
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	pg, err := server.StartPostgres(ctx)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, pg.Close()) }()
	w := &world{c: c, kafka: k, pg: pg}
	if w.dir, err = os.MkdirTemp("", "members-"); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(w.dir)
	if err := w.fill(ctx); err != nil {
		return err
	}
	all := contenders()
	if c.only != "" {
		all = slices.DeleteFunc(all, func(one contender) bool { return one.name != c.only })
	}
	took := make([][]taken, len(all))
	for range c.rounds {
		for i := range all {
			t, err := w.read(ctx, &all[i])
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %.1f s, all could read after %.1f, CPU %v\n", all[i].name, t.wall.Seconds(),
				t.first.Seconds(), t.cpu)
			took[i] = append(took[i], t)
		}
	}
	if c.only != "" {
		return nil
	}
	return c.print(os.Stdout, all, took)
}
