// Package dal opens the store that an address names. The stores are three packages beneath it,
// the only ones that speak to a database: sqlite in one file on disk, the default of the daemon;
// postgres in a database that several daemons may share; memory, which is lost with the process.
// Each implements [checkpoint.Store], passes the one suite in checkpointtest, and takes from
// package rules what all must decide alike.
package dal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/dal/postgres"
	"github.com/graphd/graphd/internal/dal/postgres/wires"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite"
)

// ErrAddress says that an address names no store.
var ErrAddress = errors.New("no store has this address; write postgres://USER@HOST/DATABASE, sqlite:PATH or memory:")

// Check says whether address names a store that could be opened, and opens nothing.
func Check(address string) error {
	kind, path, _ := strings.Cut(address, ":")
	switch kind {
	case "memory":
		return nil
	case "sqlite":
		if path == "" {
			return fmt.Errorf("%q names no file: %w", address, ErrAddress)
		}
		return nil
	case "postgres", "postgresql":
		_, err := wires.Parse(address)
		return err
	}
	return ErrAddress // it may have a password, and is not told
}

// Open opens the store at address: "memory:", "sqlite:PATH" or a Postgres URL. me is what other
// daemons on the same store are to know of this one. No error shows a password, and no error of a store that is away
// where it is: log is told that.
func Open(ctx context.Context, address string, me checkpoint.Member, log *slog.Logger) (checkpoint.Store, error) {
	kind, path, _ := strings.Cut(address, ":")
	switch kind {
	case "memory":
		s := memory.New()
		s.Me = me
		return s, nil
	case "sqlite":
		if path == "" {
			return nil, fmt.Errorf("%q names no file: %w", address, ErrAddress)
		}
		s, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return nil, err
		}
		s.Me = me
		return s, nil
	case "postgres", "postgresql":
		s, err := postgres.Open(ctx, address, postgres.Options{Member: me, Log: log})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return nil, ErrAddress
}

// Standing is how the schema of a store stands to this release.
type Standing = rules.Standing

// Look says how the schema of the store at address stands to this release, and changes nothing: no store is made where
// there is none, and none is taken from a daemon that has it. No error shows a password.
func Look(ctx context.Context, address string) (Standing, error) {
	kind, path, _ := strings.Cut(address, ":")
	if err := Check(address); err != nil {
		return Standing{}, err
	}
	switch kind {
	case "memory":
		return Standing{}, fmt.Errorf("a store in memory keeps nothing, and has no schema: %w", ErrAddress)
	case "sqlite":
		return sqlite.Look(ctx, path)
	}
	return postgres.Look(ctx, address)
}

// Probe is what a few questions to a store have found.
type Probe = rules.Probe

// Ask asks the store at address a few times, and changes nothing. No error shows a password.
func Ask(ctx context.Context, address string) (Probe, error) {
	kind, _, _ := strings.Cut(address, ":")
	if kind == "postgres" || kind == "postgresql" {
		return postgres.Probe(ctx, address)
	}
	began := time.Now()
	_, err := Look(ctx, address)
	return Probe{Latency: time.Since(began)}, err
}

// Ahead is how many migrations a store has that this release does not know: a newer one has raised it meanwhile.
func Ahead(s checkpoint.Store) int64 {
	if w, ok := s.(interface{ Ahead() int64 }); ok {
		return w.Ahead()
	}
	return 0
}

// Folder is that of a store which is a file, where there is room for a copy of it as far as there is room at all;
// "" of any other.
func Folder(s checkpoint.Store) string {
	if f, ok := s.(interface{ Path() string }); ok {
		return filepath.Dir(f.Path())
	}
	return ""
}
