package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// restartTries is how often a start is tried that ends by itself.
const restartTries = 25

// Postgres is a PostgreSQL server of its own.
type Postgres struct {
	dir, bin string
	port     int
	options  []string
	process  *process // nil when it is down
}

// PostgresBin finds the directory of PostgreSQL's programs: in the path, or where Debian
// puts them. The error is ErrMissing when there is none.
func PostgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	bin := newest("/usr/lib/postgresql/*/bin", func(p string) string { return filepath.Base(filepath.Dir(p)) })
	if bin == "" {
		return "", fmt.Errorf("PostgreSQL (initdb is not in the path; on Debian: apt-get install postgresql): %w",
			ErrMissing)
	}
	return bin, nil
}

// StartPostgres makes a database cluster in a temporary directory and serves it. options
// are settings, name=value, that every start has.
func StartPostgres(ctx context.Context, options ...string) (*Postgres, error) {
	bin, err := PostgresBin()
	if err != nil {
		return nil, err
	}
	dir, err := temporary("postgres")
	if err != nil {
		return nil, err
	}
	p := &Postgres{dir: dir, bin: bin, options: options}
	if err := p.create(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Postgres) create(ctx context.Context) error {
	attr, err := unprivileged(p.dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	initdb := exec.CommandContext(ctx, filepath.Join(p.bin, "initdb"), "-D", p.data(), "-U", "graphd", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = p.dir, attr
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	p.port = ports[0]
	return p.Start(ctx)
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// DSN is the address of the database "postgres" of the server.
func (p *Postgres) DSN() string {
	return "postgres://graphd@127.0.0.1:" + strconv.Itoa(p.port) + "/postgres?sslmode=disable"
}

// Process is the id of the server's first process, whose children the others are; 0 when it is down.
func (p *Postgres) Process() int {
	if p.process == nil {
		return 0
	}
	return p.process.cmd.Process.Pid
}

// Start serves again on the same port what was stopped or killed, and returns once a
// connection is accepted.
func (p *Postgres) Start(ctx context.Context) error {
	attr, err := unprivileged(p.dir)
	if err != nil {
		return err
	}
	argv := []string{
		filepath.Join(p.bin, "postgres"), "-D", p.data(), "-p", strconv.Itoa(p.port), "-k", p.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=32MB", "-c", "max_connections=200",
	}
	for _, o := range p.options {
		argv = append(argv, "-c", o)
	}
	// After a kill the processes of the old connections may take a moment to notice; until
	// then a new server refuses to start.
	for range restartTries {
		if p.process, err = run("PostgreSQL", filepath.Join(p.dir, "log"), p.dir, attr, argv...); err != nil {
			return err
		}
		if err = p.process.await(ctx, p.accepts); err == nil || !errors.Is(err, errEnded) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return err
}

func (p *Postgres) accepts(ctx context.Context) error {
	c, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// Stop shuts the server down, breaking its connections; what was committed is kept.
func (p *Postgres) Stop() error { return p.end(syscall.SIGINT) }

// StopImmediate lets the server end as after a crash that its children noticed.
func (p *Postgres) StopImmediate() error { return p.end(syscall.SIGQUIT) }

func (p *Postgres) end(sig os.Signal) error {
	if p.process == nil {
		return nil
	}
	err := p.process.stop(sig)
	p.process = nil
	return err
}

// Kill kills the server's first process; those of the connections follow by themselves.
func (p *Postgres) Kill() {
	if p.process != nil {
		p.process.kill()
		p.process = nil
	}
}

// Pause stops the server's first process in its tracks until Resume; the connections that
// are open go on.
func (p *Postgres) Pause() error { return pause(p.process.cmd.Process) }

// Resume lets a paused server go on.
func (p *Postgres) Resume() error { return resume(p.process.cmd.Process) }

// Close stops the server and removes its data.
func (p *Postgres) Close() error {
	return errors.Join(p.end(syscall.SIGQUIT), os.RemoveAll(p.dir))
}
