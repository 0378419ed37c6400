package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/chains"
	"github.com/graphd/graphd/internal/dal/postgres/members"
	"github.com/graphd/graphd/internal/dal/postgres/passes"
	"github.com/graphd/graphd/internal/dal/postgres/pushkeys"
	"github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/postgres/tables"
	"github.com/graphd/graphd/internal/dal/postgres/together"
	"github.com/graphd/graphd/internal/dal/postgres/tokens"
	"github.com/graphd/graphd/internal/dal/postgres/wires"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/migrations"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"
)

// Options tune a store. The zero value is right for a daemon.
type Options struct {
	// Schema is where the store's tables are, made when it is not there; "" means "graphd".
	Schema string
	// Member is what other daemons know of this one: a missing id is made, a missing name is the id.
	Member checkpoint.Member
	// Timeouts are the ends of calls.
	Timeouts Timeouts
	// Log is told why the database is away, with its address; the errors of calls, which those who may read a graph
	// see, are not. Nil says nothing.
	Log *slog.Logger
}

// Store is a store in a PostgreSQL database, which several daemons may share. Open it
// with [Open].
type Store struct {
	tokens.Table
	passes.Passes
	pushkeys.Keys
	chains.Chains
	// Roll has this daemon, whose id is in lease owners and application_name too.
	members.Roll
	schema string

	// Five pools, so that no kind of call waits for another: bulk carries commits, loads and lists; control what
	// begins and ends runs, a thousand at once in a takeover, and changes declarations; asks who is there and
	// who comes in; trail the audit; leases what keeps this daemon the owner of its graphs.
	bulk, control, asks, trail, leases *pgxpool.Pool

	timeouts Timeouts
	away     wires.Away
	// raised is what a newer release has made of the schema meanwhile.
	raised  schema.Watch
	lines   wires.Lines
	changes *together.Sender // commits and appends
	looks   tables.Looks
	probing chan struct{} // capacity 1: who finds out which row was refused

	sweeper *rules.Sweeper
	// lease is the owner that renewals go under, "" before the first.
	lease atomic.Pointer[string]
	terms atomic.Int64 // how many leases this process has had
	// takings are this process's.
	takings rules.Takings
	// listener is the connection that hears of other daemons; it belongs to the goroutine that
	// calls AwaitChange.
	listener *pgx.Conn

	closeOnce sync.Once
	closeErr  error
}

var _ checkpoint.Store = (*Store)(nil)

const (
	// controlConns bounds the control pool: starting graphs share them.
	controlConns = 4
	// trailConns bounds those of the audit: an entry's writer waits for others of its chain, in other daemons too.
	trailConns = 4
	askConns   = 2 // one for who is there and one for who comes in
	// leaseConns is one for renewals and one that listens.
	leaseConns = 2
	// bulkConns is the default of pool_max_conns in the address.
	bulkConns = 8
)

// schemaForm is what a schema may be called: it stands in search_path as it is.
var schemaForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Open opens the store in the database at dsn, a URL or a list of key=value pairs,
// and brings its schema up to date. pool_max_conns in dsn sizes the pool that commits and
// reads go through, and statement_timeout how long one statement may take.
//
// Errors: checkpoint.ErrNewerSchema when a newer release has migrated the schema. No error shows the password.
func Open(ctx context.Context, dsn string, opts Options) (*Store, error) {
	opts.Schema = cmp.Or(opts.Schema, defaultSchema)
	if !schemaForm.MatchString(opts.Schema) {
		return nil, fmt.Errorf("open the Postgres store: schema %q: use lower-case letters, digits and _", opts.Schema)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	p := &Store{schema: opts.Schema, timeouts: opts.Timeouts.withDefaults(), away: wires.Away{Log: opts.Log}}
	p.raised.Log = opts.Log
	p.Me = opts.Member
	p.Me.ID = cmp.Or(p.Me.ID, uuid.NewString())
	p.Me.Name = cmp.Or(p.Me.Name, p.Me.ID)
	p.Owner = p.owner
	p.changes, p.probing = together.New(p.send), make(chan struct{}, 1)
	p.Roll.On = func(ctx context.Context, use members.Use) error { return p.on(ctx, p.asks, use) }
	p.Table.On = func(ctx context.Context, use tokens.Use) error { return p.on(ctx, p.asks, use) }
	p.Passes = passes.New(func(ctx context.Context, use passes.Use) error { return p.on(ctx, p.asks, use) })
	p.Keys = pushkeys.Keys{Rows: p.rows, Exec: func(ctx context.Context, text string, args ...any) (int64, error) {
		return p.execFor(ctx, p.bulk, longTimeout, text, args...)
	}}
	p.Chains = chains.New(func(ctx context.Context, use chains.Use) error { return p.on(ctx, p.trail, use) })
	if err := p.connect(ctx, dsn); err != nil {
		return nil, err
	}
	err := schema.Migrate(ctx, p.control, p.schema, migrations.Postgres())
	if err == nil {
		err = p.raised.Open(migrations.Postgres())
	}
	if err != nil {
		p.closePools()
		return nil, rules.Wrap(explain(err), "open the Postgres store")
	}
	p.sweeper = rules.StartSweeper(p.sweep)
	return p, nil
}

// connect makes the pools; connections are opened when they are needed.
func (p *Store) connect(ctx context.Context, dsn string) error {
	cfg, err := wires.Parse(dsn)
	if err != nil {
		return err
	}
	if !namesPoolSize(dsn) {
		cfg.MaxConns = bulkConns
	}
	dialer := &wires.Redialer{
		Lines: &p.lines, Opens: (&net.Dialer{
			KeepAlive: 5 * time.Second, Control: wires.UserTimeout(p.timeouts.Call),
		}).DialContext,
	}
	for _, pool := range []struct {
		at      **pgxpool.Pool
		conns   int32
		timeout time.Duration
	}{{&p.bulk, cfg.MaxConns, 30 * time.Second}, {&p.control, controlConns, 10 * time.Second},
		{&p.asks, askConns, 3 * time.Second}, {&p.trail, trailConns, 10 * time.Second},
		{&p.leases, leaseConns, 3 * time.Second}} {
		c := cfg.Copy()
		c.MaxConns, c.MinConns = pool.conns, 0
		c.PingTimeout = min(pingTimeout, p.timeouts.Lease/2)
		c.ConnConfig.DialFunc = dialer.Dial
		c.ConnConfig.ConnectTimeout = 5 * time.Second
		if cfg.ConnConfig.ConnectTimeout > 0 {
			c.ConnConfig.ConnectTimeout = cfg.ConnConfig.ConnectTimeout
		}
		p.session(c.ConnConfig, pool.timeout)
		switch pool.at {
		case &p.leases:
			// Somebody else's lock must not keep this daemon from its own renewals.
			c.ConnConfig.RuntimeParams["lock_timeout"] = "300"
		case &p.bulk, &p.control:
			if c.ConnConfig.RuntimeParams["lock_timeout"] == "" {
				c.ConnConfig.RuntimeParams["lock_timeout"] = strconv.FormatInt(
					(p.timeouts.Call * lockShare / 100).Milliseconds(), 10)
			}
		}
		made, err := pgxpool.NewWithConfig(ctx, c)
		if err != nil {
			p.closePools()
			return rules.Wrap(err, "open the Postgres store")
		}
		*pool.at = made
	}
	return nil
}

// session sets what every connection of a pool runs under; what the address says goes before.
//
// No query of the store is right as a scan of a whole table, and its plans are made once:
// what a statement costs must not hang on when statistics were gathered last.
func (p *Store) session(c *pgx.ConnConfig, timeout time.Duration) {
	params := map[string]string{
		"statement_timeout":                   strconv.FormatInt(timeout.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": "10000",
		"plan_cache_mode":                     "force_generic_plan",
		"enable_seqscan":                      "off",
		"enable_hashjoin":                     "off",
		"enable_mergejoin":                    "off",
		"jit":                                 "off",
		"timezone":                            "UTC",
	}
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	for name, value := range params {
		if _, given := c.RuntimeParams[name]; !given {
			c.RuntimeParams[name] = value
		}
	}
	// A daemon that takes over ends the connections of the one before by this name.
	c.RuntimeParams["application_name"] = p.application()
	c.RuntimeParams["search_path"] = p.schema + ",pg_catalog"
}

func (p *Store) application() string { return "graphd-" + p.Me.ID }

var poolSize = regexp.MustCompile(`pool_max_conns\s*=`)

func namesPoolSize(dsn string) bool { return poolSize.MatchString(dsn) }

// Kind is "postgres".
func (p *Store) Kind() string { return "postgres" }

// Ping asks the database.
func (p *Store) Ping(ctx context.Context) error {
	return rules.Wrap(p.on(ctx, p.control, func(ctx context.Context, c *pgxpool.Conn) error {
		return c.Ping(ctx)
	}), "ping store")
}

// Close gives up the lease, so that others may take this daemon's graphs at once, and
// closes the connections when the calls under way have ended. It is safe to call twice.
func (p *Store) Close() error {
	p.closeOnce.Do(func() {
		p.sweeper.Close()
		p.closeErr = rules.Wrap(p.leave(), "close the Postgres store")
		p.closePools()
	})
	return p.closeErr
}

func (p *Store) closePools() {
	// A pool waits until the server has taken its farewell, for 15 s where the line carries none.
	timer := time.AfterFunc(closeTimeout, p.lines.Cut)
	defer timer.Stop()
	for _, pool := range []*pgxpool.Pool{p.bulk, p.control, p.asks, p.trail, p.leases} {
		if pool != nil {
			pool.Close()
		}
	}
	p.changes.Wait()
}

// on runs use with a connection of a pool, for as long as a small call may take.
func (p *Store) on(ctx context.Context, pool *pgxpool.Pool, use func(context.Context, *pgxpool.Conn) error) error {
	return p.onFor(ctx, pool, p.budget(pool, 0), use)
}

// onFor runs use with a connection of a pool, and explains its error. A connection that has
// not answered in time is closed, and so are the others: they may hang on the same line.
func (p *Store) onFor(ctx context.Context, pool *pgxpool.Pool, budget time.Duration,
	use func(context.Context, *pgxpool.Conn) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// Who is there and who comes in is asked all the same, and whether the store can be read again.
	if err := p.raised.Refusal(); err != nil && pool != p.asks && pool != p.leases {
		return err
	}
	s := wires.Within(ctx, p.budget(pool, 0))
	defer s.Stop()
	crowded := false // as many calls are on the way as there may be: that says nothing of the line
	err := func() error {
		c, err := pool.Acquire(s)
		if use := pool.Stat(); err != nil {
			crowded = use.AcquiredConns() >= use.MaxConns()
		}
		if err != nil && context.Cause(s) == nil && !errors.Is(err, puddle.ErrClosedPool) {
			err = fmt.Errorf("%w: %w", checkpoint.ErrUnreachable, err)
		}
		if err != nil {
			return err
		}
		defer c.Release()
		s.Every(budget)
		return use(s, c)
	}()
	switch cause := context.Cause(s); {
	case err == nil:
	case errors.Is(cause, checkpoint.ErrSlow) && !crowded:
		p.distrust(pool)
	case cause == nil && wires.IsDead(err):
		p.distrust(pool)
	}
	return p.away.Hide(s, explain(wires.CauseOf(s, err)))
}

// distrust throws the open connections away after one of the pool's has answered nothing or was
// ended: the others have gone the same way for the most part, and each that is tried costs a call
// its time. Those in use go when their calls end. The connections that keep the lease are
// thrown away by their own calls alone: these are tried again before the lease is over. Those of the
// audit throw away no others: what they wait for is most likely each other.
func (p *Store) distrust(pool *pgxpool.Pool) {
	p.trail.Reset()
	if pool == p.trail {
		return
	}
	p.bulk.Reset()
	p.control.Reset()
	p.asks.Reset()
	if pool == p.leases {
		pool.Reset()
	}
}

// row runs a statement that answers at most one row; found is false when there is none.
func (p *Store) row(ctx context.Context, pool *pgxpool.Pool, text string, args []any, into ...any) (
	found bool, err error) {
	err = p.on(ctx, pool, func(ctx context.Context, c *pgxpool.Conn) error {
		err := c.QueryRow(ctx, text, args...).Scan(into...)
		found = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return found, err
}

// rows reads: it runs a query and hands each row to visit. A connection that turns out to be
// dead before the first row is replaced, once.
func (p *Store) rows(ctx context.Context, text string, args []any, visit func(pgx.Rows) error) error {
	began := false
	once := func(r pgx.Rows) error { began = true; return visit(r) }
	err := p.query(ctx, text, args, once)
	if err != nil && !began && context.Cause(ctx) == nil && wires.IsDead(err) {
		err = p.query(ctx, text, args, once)
	}
	return err
}

func (p *Store) query(ctx context.Context, text string, args []any, visit func(pgx.Rows) error) error {
	return p.on(ctx, p.bulk, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := visit(rows); err != nil {
				return err
			}
			if s, ok := ctx.(*wires.Stretch); ok {
				s.Progress() // a large answer takes as long as it comes in
			}
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// exec runs a statement and says how many rows it changed.
func (p *Store) exec(ctx context.Context, pool *pgxpool.Pool, text string, args ...any) (changed int64, err error) {
	return p.execFor(ctx, pool, p.budget(pool, 0), text, args...)
}

// execFor is exec for a statement that may take longer.
func (p *Store) execFor(ctx context.Context, pool *pgxpool.Pool, budget time.Duration, text string, args ...any) (
	changed int64, err error) {
	err = p.onFor(ctx, pool, budget, func(ctx context.Context, c *pgxpool.Conn) error {
		tag, err := c.Exec(ctx, text, args...)
		changed = tag.RowsAffected()
		return err
	})
	return changed, err
}
