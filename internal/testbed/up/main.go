// Command up starts the servers that tests run against and names them in the environment.
//
// With a command it runs that command, tells at the end which tests were skipped for want
// of a server, stops the servers and exits as the command did:
//
//	go run ./internal/testbed/up -- go test ./...
//
// Without one it prints the variables for a shell and keeps the servers until interrupted.
// With -jars it prints the directory of Kafka's jars, fetched when they are not there yet.
//
// A server that the environment names already is used and left alone. What cannot be
// started because it is not installed is said, and the tests that need it are skipped;
// with GRAPHD_TEST_REQUIRE set that is an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/testbed/server"
)

func main() { os.Exit(run(os.Args[1:])) }

// bed is the servers that run, and the variables that name them.
type bed struct {
	vars    []string
	closers []func() error
}

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) == 1 && args[0] == "-jars" {
		return jars(ctx)
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	b := &bed{}
	defer b.close()
	if err := b.start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		return 1
	}
	if len(args) == 0 {
		for _, v := range b.vars {
			fmt.Println("export " + v)
		}
		<-ctx.Done()
		return 0
	}
	return b.with(args)
}

// jars prints where Kafka's jars are.
func jars(ctx context.Context) int {
	dir, err := server.KafkaJars(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		return 1
	}
	fmt.Println(dir)
	return 0
}

// start starts what is not there yet.
func (b *bed) start(ctx context.Context) error {
	err := b.add(testbed.EnvPostgres, func() (string, func() error, error) {
		// The machine does not lose its power within a run, and tests that kill a server start their own.
		p, err := server.StartPostgres(ctx, "fsync=off", "full_page_writes=off")
		if err != nil {
			return "", nil, err
		}
		return p.DSN(), p.Close, nil
	})
	if err != nil {
		return err
	}
	return b.add(testbed.EnvKafka, func() (string, func() error, error) {
		k, err := server.StartKafka(ctx, server.KafkaConfig{})
		if err != nil {
			return "", nil, err
		}
		return strings.Join(k.Addrs(), ","), k.Close, nil
	})
}

// add starts one server and names it by a variable, unless the variable is set.
func (b *bed) add(name string, start func() (value string, closer func() error, err error)) error {
	if os.Getenv(name) != "" {
		return nil
	}
	value, closer, err := start()
	if errors.Is(err, server.ErrMissing) && os.Getenv(testbed.EnvRequire) == "" {
		fmt.Fprintf(os.Stderr, "testbed: %s stays unset: %v\n", name, err)
		return nil
	}
	if err != nil {
		return err
	}
	b.vars = append(b.vars, name+"="+value)
	b.closers = append(b.closers, closer)
	return nil
}

func (b *bed) close() {
	for _, c := range slices.Backward(b.closers) {
		if err := c(); err != nil {
			fmt.Fprintln(os.Stderr, "testbed:", err)
		}
	}
}

// with runs a command beside the servers and answers its exit code. An interrupt from the
// terminal reaches the command too; it is waited for.
func (b *bed) with(args []string) int {
	dir, err := os.MkdirTemp("", "graphd-testbed-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	skipped := filepath.Join(dir, "skipped")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(append(os.Environ(), b.vars...), testbed.EnvSkipped+"="+skipped)
	err = cmd.Run()
	report(skipped)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "testbed:", err)
		return 1
	}
	return 0
}

// report tells which tests were skipped.
func report(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return // nothing was
	}
	lines := slices.Sorted(strings.Lines(string(text)))
	lines = slices.Compact(lines)
	fmt.Printf("testbed: %d tests were skipped:\n", len(lines))
	for _, l := range lines {
		fmt.Print("  " + l)
	}
}
