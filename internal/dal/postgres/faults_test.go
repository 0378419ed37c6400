package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	tables "github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/migrations"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A migration that is cut short leaves the schema of the file before it, and its lock goes
// with its connection: the next start goes on.
func TestMigrationResumes(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	open(t, dsn, schema).Close()
	known, err := rules.ReadMigrations(migrations.Postgres(), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	files, want := fstest.MapFS{}, []string{}
	for _, m := range known {
		files["postgres/"+m.Name] = &fstest.MapFile{Data: []byte(m.Text)}
		want = append(want, fmt.Sprint(m.Version, " ", m.Name))
	}
	half := fmt.Sprintf("%04d_half.sql", len(known)+1)
	want = append(want, fmt.Sprint(len(known)+1, " ", half))
	files["postgres/"+half] = &fstest.MapFile{Data: []byte("CREATE TABLE half (n int); SELECT pg_sleep(60)")}
	p := open(t, dsn, schema)
	defer p.Close()
	cut := make(chan error, 1)
	go func() { cut <- tables.Migrate(t.Context(), p.control, schema, files) }()
	backend := "SELECT pid FROM pg_stat_activity WHERE application_name = '" + p.application() +
		"' AND query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'"
	until(t, "the migration is under way", patience, func() bool { return len(query(t, dsn, backend)) > 0 })
	query(t, dsn, "SELECT pg_terminate_backend(pid) FROM ("+backend+") b")
	if err := <-cut; err == nil {
		t.Fatal("a migration whose connection was cut has succeeded")
	}
	if got := query(t, dsn, "SELECT to_regclass('"+schema+".half')"); got[0] != "<nil>" {
		t.Errorf("half a migration is there: %v", got)
	}
	files["postgres/"+half] = &fstest.MapFile{
		Data: []byte("CREATE TABLE half (n int); CREATE TABLE whole (n int)"),
	}
	var wg sync.WaitGroup
	for range 4 { // of daemons that start together one does it
		wg.Go(func() {
			if err := tables.Migrate(t.Context(), p.control, schema, files); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := query(t, dsn, "SELECT version, name FROM "+schema+".schema_migration ORDER BY 1"); !slices.Equal(got,
		want) {
		t.Errorf("migrations %v", got)
	}
	// M55: what is newer is opened as long as it says that this release can read it.
	open(t, dsn, schema).Close()
	for _, test := range []struct {
		format, readableFrom int
		want                 error
	}{{9, 8, checkpoint.ErrNewerSchema}, {0, 0, checkpoint.ErrOlderFormat}} {
		query(t, dsn, fmt.Sprintf("UPDATE %s.store_format SET format = %d, readable_from = %d", schema, test.format,
			test.readableFrom))
		if _, err := Open(t.Context(), dsn, Options{Schema: schema}); !errors.Is(err, test.want) {
			t.Errorf("format %d, readable from %d: %v, want %v", test.format, test.readableFrom, err, test.want)
		}
	}
	query(t, dsn, "DROP TABLE "+schema+".store_format")
	if _, err := Open(t.Context(), dsn, Options{Schema: schema}); !errors.Is(err, checkpoint.ErrNewerSchema) {
		t.Errorf("a newer schema that does not say its format: %v", err)
	}
}

// Daemons that start together on a new database meet at one lock: each finds the store whole.
func TestStartsTogether(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	for range 5 {
		schema := schemaName()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				p, err := Open(t.Context(), dsn, Options{Schema: schema})
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				if err := p.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		wg.Wait()
	}
}

// proxy stands between a store and the server, and cuts the line as told.
type proxy struct {
	net.Listener
	to string

	mu    sync.Mutex
	conns []net.Conn
	// hold keeps the server's answers back; swallow takes the bytes of both sides and carries none.
	hold, swallow bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &proxy{Listener: l, to: to}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			x.mu.Lock()
			x.conns = append(x.conns, in, out)
			x.mu.Unlock()
			wg.Go(func() { x.pump(out, in, false) })
			wg.Go(func() { x.pump(in, out, true) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		x.cut()
		wg.Wait()
	})
	return x
}

// pump carries one direction until either end closes.
func (x *proxy) pump(to, from net.Conn, answers bool) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		x.mu.Lock()
		hold := x.hold && answers || x.swallow
		x.mu.Unlock()
		if hold {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (x *proxy) keepAnswers(hold bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hold = hold
}

func (x *proxy) swallowAll(swallow bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.swallow = swallow
}

func (x *proxy) cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		c.Close()
	}
	x.conns = nil
}

// A commit whose answer is lost is of unknown outcome, and not sent again; the next one says
// where the store stands. A server that is away before anything is sent is a clean error.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	server := net.JoinHostPort(cfg.ConnConfig.Host, fmt.Sprint(cfg.ConnConfig.Port))
	x := newProxy(t, server)
	p, err := Open(t.Context(), strings.Replace(dsn, server, x.Addr().String(), 1), Options{Schema: schema,
		Timeouts: Timeouts{Call: 2 * time.Minute}}) // an answer that is kept is not waited for that long
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	o := checkpointtest.NewOwner(t, p, "g")
	o.Next.Cells = checkpointtest.CellsOf(1, 10)
	o.Commit(t)

	c := o.Next
	c.Seq, c.Epoch = 2, 2
	x.keepAnswers(true)
	sent := make(chan error, 1)
	go func() { sent <- p.Commit(t.Context(), &c) }()
	applied := "SELECT 1 FROM " + schema + ".graph_head WHERE seq = 2"
	until(t, "the commit is applied", patience, func() bool { return len(query(t, dsn, applied)) > 0 })
	x.cut()
	if err := <-sent; !errors.Is(err, checkpoint.ErrUnknownOutcome) || errors.Is(err, checkpoint.ErrFenced) {
		t.Fatalf("a commit whose answer was lost: %v", err)
	}
	x.keepAnswers(false)
	if err := p.Commit(t.Context(), &c); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("the same commit again: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x.keepAnswers(true)
	c.Seq, c.Epoch = 3, 3
	go func() { sent <- p.Commit(ctx, &c) }()
	applied = strings.Replace(applied, "seq = 2", "seq = 3", 1)
	until(t, "the next commit is applied", patience, func() bool { return len(query(t, dsn, applied)) > 0 })
	cancel()
	if err := <-sent; !errors.Is(err, checkpoint.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
		t.Errorf("a commit whose answer was not waited for: %v", err)
	}
	x.keepAnswers(false)
	x.Close()
	x.cut()
	c.Seq, c.Epoch = 4, 4
	if err := p.Commit(t.Context(), &c); err == nil || errors.Is(err, checkpoint.ErrUnknownOutcome) ||
		errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a commit without a server: %v, want a clean error", err)
	}
}

// M45: what a hanging owner has under way is ended when its lease is taken away, and what it
// holds locked stands in nobody's way.
func TestHangingOwner(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	old, next := open(t, dsn, schema), open(t, dsn, schema)
	defer next.Close()
	defer old.Close()
	renew(t, old, time.Minute)
	renew(t, next, time.Minute)
	o := checkpointtest.NewOwner(t, old, "g")
	if _, err := next.Acquire(t.Context(), o.Next.ID); !isOwned(err) {
		t.Fatalf("a graph of a living owner was taken: %v", err)
	}
	renew(t, old, 300*time.Millisecond)
	// The worst it can hold: its own lease's row, and the graph's head. The server does not end it for being idle:
	// whoever waits for it waits until the test has failed.
	conn, err := old.bulk.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(),
		"SET idle_in_transaction_session_timeout = 0; BEGIN; SELECT * FROM graph_head FOR UPDATE; "+
			"SELECT * FROM lease WHERE application = '"+old.application()+"' FOR UPDATE; "+
			"SELECT * FROM graph_number FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	// The lease runs out in real time, by the server's clock: that is what is tested.
	until(t, "the graph of a dead owner is taken", patience, func() bool {
		renew(t, next, time.Minute)
		head, err := next.Acquire(t.Context(), o.Next.ID)
		if err != nil && !isOwned(err) || head.Own != 0 {
			t.Fatalf("%+v, %v", head, err)
		}
		return err == nil
	})
	if head, err := next.Acquire(t.Context(), o.Next.ID); err != nil || head.Own != 1 { // M43
		t.Errorf("taken again by the same daemon: %+v, %v", head, err)
	}
	o.Next.Seq++
	if err := old.Commit(t.Context(), &o.Next); !errors.Is(err, checkpoint.ErrFenced) &&
		!errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("a stale commit: %v", err)
	}
	before := old.owner()
	for err = errors.New("not asked yet"); err != nil; { // first the lost connections are noticed, then the lost lease
		if _, err = old.RenewLease(t.Context(), time.Minute); err == nil && old.owner() == before {
			t.Fatal("a lease that was taken away was renewed")
		}
	}
	for range controlConns { // each of which may have been ended
		if _, err = old.Acquire(t.Context(), o.Next.ID); err == nil || isOwned(err) {
			break
		}
	}
	if !isOwned(err) {
		t.Errorf("the old owner has taken the graph back: %v", err)
	}
}

func renew(t *testing.T, p *Store, ttl time.Duration) checkpoint.Lease {
	t.Helper()
	lease, err := p.RenewLease(t.Context(), ttl)
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	return lease
}

func isOwned(err error) bool {
	_, ok := errors.AsType[*checkpoint.OwnedError](err)
	return ok
}

// M45: a graph that is yielded is free at once, and others hear of it; so is everything of a
// daemon that leaves. Changes of declarations are heard too.
func TestYield(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	a, b := open(t, dsn, schema), open(t, dsn, schema)
	defer b.Close()
	first := renew(t, a, time.Minute)
	renew(t, b, time.Minute)
	g, h := checkpoint.ID{Tenant: "default", Graph: "g"}, checkpoint.ID{Tenant: "default", Graph: "h"}
	var fence int64
	for _, id := range []checkpoint.ID{g, h} {
		head, err := a.Acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		fence = head.Fence
	}
	if owned := ownersOf(t, b); len(owned) != 2 || owned[g] != a.Self() {
		t.Fatalf("owned %v", owned)
	}
	hear := func(what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := b.AwaitChange(ctx); err != nil {
			t.Fatalf("%s was not heard: %v", what, err)
		}
	}
	hear("the beginning")
	if err := a.Yield(t.Context(), g, fence); err != nil {
		t.Fatal(err)
	}
	hear("a yield")
	if _, err := b.Acquire(t.Context(), g); err != nil {
		t.Errorf("a yielded graph: %v", err)
	}
	if _, err := b.Acquire(t.Context(), h); !isOwned(err) {
		t.Errorf("a graph that was not yielded: %v", err)
	}
	if err := b.Yield(t.Context(), h, fence); err != nil {
		t.Fatal(err)
	}
	if owned := ownersOf(t, b); len(owned) != 2 || owned[g] != b.Self() || owned[h] != a.Self() {
		t.Errorf("a graph was yielded by who does not own it: %v", owned)
	}
	if _, err := a.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: "default", Graph: "g"}, 0); err != nil {
		t.Fatal(err)
	}
	hear("a declaration")
	if second := renew(t, a, time.Minute); second.Declarations == first.Declarations {
		t.Error("a renewal does not tell that a declaration has changed")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	hear("a daemon that left")
	if _, err := b.Acquire(t.Context(), h); err != nil {
		t.Errorf("a graph of a daemon that left: %v", err)
	}
}

// M45: of many daemons that find one dead, one takes the graph, again and again.
func TestOneTaker(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	const daemons = 6
	var stores [daemons]*Store
	for i := range stores {
		stores[i] = open(t, dsn, schema)
		defer stores[i].Close()
	}
	id := checkpoint.ID{Tenant: "default", Graph: "g"}
	for round := range 15 {
		for _, p := range stores {
			if _, err := p.RenewLease(t.Context(), time.Minute); errors.Is(err, checkpoint.ErrLeaseLost) {
				renew(t, p, time.Minute)
			}
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var takers []*Store
		for _, p := range stores {
			wg.Go(func() {
				_, err := p.Acquire(t.Context(), id)
				if err == nil {
					mu.Lock()
					takers = append(takers, p)
					mu.Unlock()
				} else if !isOwned(err) {
					t.Errorf("acquire: %v", err)
				}
			})
		}
		wg.Wait()
		if len(takers) != 1 {
			t.Fatalf("round %d: %d daemons own the graph", round, len(takers))
		}
		query(t, dsn, "DELETE FROM "+schema+".lease WHERE owner = '"+takers[0].owner()+"'") // it has died
	}
}

// No error shows a password, and a name that is no schema reaches no statement.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://me:hunter2@127.0.0.1:1/x?connect_timeout=1", "postgres://me:hunter2@[", "password=hunter2 port=x",
		"postgres://me:hunter2@127.0.0.1:1/x?sslmode=hunter2",
		"postgres://me:hunter2@127.0.0.1:1/x?pool_max_conns=hunter2",
	} {
		_, err := Open(t.Context(), dsn, Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
	if _, err := Open(t.Context(), "postgres://x", Options{Schema: "a; DROP"}); err == nil ||
		!strings.Contains(err.Error(), "schema") {
		t.Errorf("an odd schema: %v", err)
	}
}

// No list may read a whole table: each statement of a commit must be answered from an index.
func TestPlans(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	p := open(t, dsn, schema)
	defer p.Close()
	o := checkpointtest.NewOwner(t, p, "g")
	c := o.Next
	c.Seq = 1
	c.Cells, c.Firings = append(checkpointtest.CellsOf(2, 10), checkpoint.Cell{Kind: "x", Name: "y"}),
		checkpointtest.FiringsOf(1, 10)
	c.DeadLetters = []checkpoint.DeadLetter{{ID: "l"}}
	c.Outbox, c.Delivered, c.JournalTo = []checkpoint.OutboxEntry{{Output: "o", Seq: 3}}, []checkpoint.Delivered{
		{Output: "o", UpTo: 1},
	}, 1
	for _, ordered := range []bool{true, false} {
		s := commitStatement(&c, c.Firings, ordered)
		err := p.rows(t.Context(), "EXPLAIN "+s.text.String(), s.args, func(r pgx.Rows) error {
			var line string
			if err := r.Scan(&line); err != nil {
				return err
			}
			if strings.Contains(line, "Seq Scan") && !strings.Contains(line, "on store_format ") { // that is one row
				t.Errorf("%s", line)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
