package graphd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal"
)

// openStore opens the store that the configuration names.
func openStore(ctx context.Context, c *Config) (checkpoint.Store, error) {
	s, err := dal.Open(ctx, c.storeAddress(), c.member(), c.Log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storeClass(err), err)
	}
	return s, nil
}

// storeAddress is where the store is.
func (c *Config) storeAddress() string {
	if c.Store != "" {
		return c.Store
	}
	return "sqlite:" + filepath.Join(c.Data, "graphd.db")
}

// raised warns of a store whose schema a newer release has raised while this one runs.
func (d *Daemon) raised() []api.Warning {
	n := dal.Ahead(d.store)
	if n == 0 {
		return nil
	}
	return []api.Warning{{Code: api.WarnSchemaRaised, Detail: fmt.Sprintf("a newer release has raised the store's "+
		"schema by %d while this daemon runs: start that release in this one's place", n)}}
}

// member is what other daemons on the same store are to know of this one.
func (c *Config) member() checkpoint.Member {
	m := checkpoint.Member{ID: uuid.NewString(), Name: c.daemonName(), Address: c.Advertise, Peer: c.MemberListen,
		Version: dal.VersionAmong(c.Version.Version), Capacity: cmp.Or(c.Capacity, 1), Started: time.Now()}
	if c.StandBy {
		m.Capacity = 0
	}
	return m
}

// daemonName is what other daemons on the same store call this one.
func (c *Config) daemonName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s/%d (%s)", host, os.Getpid(), c.Listen)
}

// storeClass tells a store that somebody else holds or that is out of reach from one that
// this graphd cannot use.
func storeClass(err error) error {
	if errors.Is(err, dal.ErrAddress) || errors.Is(err, checkpoint.ErrNewerSchema) ||
		errors.Is(err, checkpoint.ErrOlderFormat) || errors.Is(err, checkpoint.ErrCorrupt) {
		return ErrConfig
	}
	return ErrDependency
}

// Migrate brings the store that the configuration names to this release's schema and
// closes it again: what a daemon does when it starts, without starting one. A store that
// a newer release has written is refused and left as it is.
func Migrate(ctx context.Context, c Config) (kind string, err error) {
	c.setDefaults()
	store, err := openStore(ctx, &c)
	if err != nil {
		return "", err
	}
	return store.Kind(), store.Close()
}

// StoreSchema is how the schema of a store stands to this release: what it has, and what it lacks.
type StoreSchema = dal.Standing

// SchemaOf reads how the store that the configuration names stands to this release. It changes nothing: a store that is
// not there is not made, and one that a daemon has is not taken from it. That this release cannot use the store is in
// the answer; an error says that it could not be read.
func SchemaOf(ctx context.Context, c Config) (StoreSchema, error) {
	c.setDefaults()
	s, err := dal.Look(ctx, c.storeAddress())
	if err != nil {
		return s, fmt.Errorf("%w: %w", storeClass(err), err)
	}
	if s.Refused != nil {
		s.Refused = fmt.Errorf("%w: %w", storeClass(s.Refused), s.Refused)
	}
	return s, nil
}

// StoreProbe is what a few questions to a store have found.
type StoreProbe = dal.Probe

// AskStore asks the store that the configuration names a few times, and changes nothing.
func AskStore(ctx context.Context, c Config) (StoreProbe, error) {
	c.setDefaults()
	p, err := dal.Ask(ctx, c.storeAddress())
	if err != nil {
		return p, fmt.Errorf("%w: %w", storeClass(err), err)
	}
	return p, nil
}
