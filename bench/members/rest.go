package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/bench/seen"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/placement"
	"github.com/graphd/graphd/internal/supervisor"
	"github.com/graphd/graphd/internal/testbed/server"
)

// restCommand is `members rest`: so many members, each with the keeper and the store of a daemon, on one database with
// the shards of a graph, owned as they are dealt, and what they ask of it while nothing changes.
func restCommand(ctx context.Context, args []string, w io.Writer) (err error) {
	flags := flag.NewFlagSet("rest", flag.ExitOnError)
	most := flags.Int("members", 64, "how many members there are at the end")
	seconds := flags.Int("seconds", 20, "how long each number of them is looked at")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *most < 1 || *most > 64 || *seconds < 1 {
		return errors.New("-members must be 1 to 64 and -seconds at least 1")
	}
	pg, err := server.StartPostgres(ctx, "max_connections=1000")
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, pg.Close()) }()
	r := &resting{pg: pg, group: supervisor.NewTree(time.Now).Root("members").NewGroup()}
	defer func() { err = errors.Join(err, r.close()) }()
	fmt.Fprintf(w, "Members at rest, %d shards that all have an owner, counted for %d s each\n", modelShards, *seconds)
	for n := 1; n <= *most; n *= 2 {
		for len(r.stores) < n {
			if err := r.join(ctx); err != nil {
				return err
			}
		}
		if n == 1 {
			if err := r.own(ctx); err != nil {
				return err
			}
		}
		if err := r.look(ctx, w, time.Duration(*seconds)*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// resting are members that have nothing to do.
type resting struct {
	pg     *server.Postgres
	group  *supervisor.Group
	stores []checkpoint.Store
}

// join has one more member come.
func (r *resting) join(ctx context.Context) error {
	name, log := "member-"+strconv.Itoa(len(r.stores)), slog.New(slog.DiscardHandler)
	store, err := dal.Open(ctx, r.pg.DSN(), checkpoint.Member{ID: name, Name: name, Capacity: 1, Peer: "127.0.0.1:1",
		Started: time.Now()}, log)
	if err != nil {
		return fmt.Errorf("open the store of %s: %w", name, err)
	}
	r.stores = append(r.stores, store)
	keeper := lease.New(lease.Config{Store: store, Log: log, TTL: 3 * time.Second, Patience: 30 * time.Second,
		Places: func() placement.Places { return modelPlaces(modelShards) }})
	if err := keeper.Begin(ctx, r.group); err != nil {
		return fmt.Errorf("make the lease of %s: %w", name, err)
	}
	return nil
}

// own has the first member own all shards.
func (r *resting) own(ctx context.Context) error {
	for shard := range modelShards {
		if _, err := r.stores[0].Acquire(ctx, modelUnit(shard)); err != nil {
			return fmt.Errorf("take shard %d: %w", shard, err)
		}
	}
	return nil
}

// look counts for so long.
func (r *resting) look(ctx context.Context, w io.Writer, long time.Duration) error {
	before, err := r.count(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
	}
	after, err := r.count(ctx)
	if err != nil {
		return err
	}
	s := after.at.Sub(before.at).Seconds()
	_, err = fmt.Fprintf(w, "%d: %.1f transactions/s, %.0f rows/s, %.3f cores of the database\n", len(r.stores),
		float64(after.transactions-before.transactions)/s, float64(after.rows-before.rows)/s,
		(after.cpu-before.cpu).Seconds()/s)
	return err
}

// counted is what the database has done so far.
type counted struct {
	at                 time.Time
	transactions, rows int64
	cpu                time.Duration
}

// count asks the database, whose sessions say at most a second late what they have done.
func (r *resting) count(ctx context.Context) (c counted, err error) {
	conn, err := pgx.Connect(ctx, r.pg.DSN())
	if err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := conn.QueryRow(ctx, `select xact_commit + xact_rollback, tup_returned from pg_stat_database
		where datname = current_database()`).Scan(&c.transactions, &c.rows); err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	c.at = time.Now()
	c.cpu, err = seen.Family(r.pg.Process())
	return c, err
}

// close ends the members.
func (r *resting) close() (err error) {
	r.group.Stop()
	err = r.group.WaitDeadline(10 * time.Second)
	for _, s := range r.stores {
		err = errors.Join(err, s.Close())
	}
	return err
}
