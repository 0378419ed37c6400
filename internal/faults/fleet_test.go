package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/testbed/server"
)

// fleet are daemons on one database that is theirs alone, each with a wire of its own to the database, and one by
// which the other members reach it.
type fleet struct {
	t      *testing.T
	pg     *server.Postgres
	db     *pgxpool.Pool
	secret string
	args   []string // of every daemon
	seats  []*seat
	graphs int    // how many there are, where they are counted
	lacks  string // why what was waited for is not so yet, where that is known
	// beside is the control of what is promised within a time; nil where nothing is.
	beside *control
}

// seat is where a daemon runs, ends and is started again.
type seat struct {
	f      *fleet
	n      int
	dir    string
	dsn    string
	store  *testbed.Proxy // between it and the database
	peers  *testbed.Proxy // between the other members and it
	api    string         // where it answers, in every life
	listen string         // where it takes what other members forward
	runs   string         // the daemon's binary, "" for the one that is tested
	p      *process       // nil while it is down
	lives  int
	busy   bool // something has been done to it that is not undone yet
}

// natted rewrites the address at which a member says that it can be reached to that of the test's proxy before it, as
// a translation of addresses on the way would.
const natted = `create table nat (peer text primary key, through text not null);
create function through_nat() returns trigger language plpgsql as $$ begin
	new.peer := coalesce((select through from public.nat where nat.peer = new.peer), new.peer);
	return new;
end $$;
create trigger through_nat before insert or update of peer on graphd.lease
	for each row execute function public.through_nat()`

// newFleet makes the database with the statements and so many seats, and starts nobody.
func newFleet(t *testing.T, seats int, args []string, statements ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, args: args, secret: secretFile(t, strings.Repeat("s3cret-", 8))}
	f.pg = testbed.OwnPostgres(t, "fsync=off", "log_min_messages=fatal")
	migrate := exec.Command(binary(), "migrate", "--store", f.pg.DSN())
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	var err error
	// A user's own schema comes first, and that is the store's.
	dsn := f.pg.DSN() + "&search_path=public"
	if f.db, err = pgxpool.New(context.WithoutCancel(t.Context()), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	for _, text := range append([]string{natted}, statements...) {
		if _, err := f.db.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for n := range seats {
		f.seat(n)
	}
	return f
}

// seat makes a place for a daemon.
func (f *fleet) seat(n int) {
	s := &seat{f: f, n: n, dir: f.t.TempDir(), api: testbed.FreeAddr(f.t), listen: testbed.FreeAddr(f.t)}
	s.store, s.dsn = testbed.PostgresProxy(f.t, f.pg.DSN())
	s.peers = testbed.NewProxy(f.t, s.listen)
	if _, err := f.db.Exec(f.t.Context(), "insert into nat values ($1, $2)", s.listen, s.peers.Addr()); err != nil {
		f.t.Fatal(err)
	}
	f.seats = append(f.seats, s)
}

// start starts the daemon of a seat, which waits for a database that is not there.
func (s *seat) start() {
	s.f.t.Helper()
	args := append([]string{"--listen", s.api, "--advertise", s.api, "--store", s.dsn, "--member-listen", s.listen,
		"--member-secret", s.f.secret}, s.f.args...)
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if s.p, err = launchOf(s.f.t, cmp.Or(s.runs, binary()), nil, s.dir, args...); err == nil {
			s.lives++
			return
		}
		<-time.After(200 * time.Millisecond)
	}
	s.f.t.Fatalf("daemon %d did not start: %v", s.n, err)
}

// end ends the daemon of a seat, in order where how is SIGTERM, and keeps what it has said.
func (s *seat) end(how syscall.Signal) (err error) {
	s.f.t.Helper()
	_ = s.p.cmd.Process.Signal(how)
	select {
	case err = <-s.p.ended:
	case <-time.After(time.Minute):
		s.keepLog()
		s.f.t.Fatalf("daemon %d did not end within a minute of %v", s.n, how)
	}
	if err != nil {
		err = fmt.Errorf("%w; it has said: %s", err, s.tail())
	}
	s.p.ended = nil
	s.keepLog()
	s.p = nil
	if how == syscall.SIGKILL {
		return nil
	}
	return err
}

// logsEnv names a folder in which the logs of all daemons are kept.
const logsEnv = "GRAPHD_TEST_LOGS"

func (s *seat) keepLog() {
	dir := os.Getenv(logsEnv)
	if dir == "" || s.p == nil {
		return
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d-%02d.log", s.f.t.Name(), s.n, s.lives))
	if err := os.WriteFile(path, []byte(s.p.log.String()), 0o644); err != nil {
		s.f.t.Error(err)
	}
}

// tail is the end of what a daemon has said.
func (s *seat) tail() string {
	if s.p == nil {
		return "it is down"
	}
	text := s.p.log.String()
	return text[max(0, len(text)-4000):]
}

// alive fails the test where a daemon has ended that nobody has ended.
func (f *fleet) alive() {
	f.t.Helper()
	for _, s := range f.seats {
		if s.p == nil {
			continue
		}
		select {
		case err := <-s.p.ended:
			s.p.ended = nil
			s.keepLog()
			f.t.Fatalf("daemon %d ended by itself: %v\n%s", s.n, err, s.tail())
		default:
		}
	}
}

// up are the seats whose daemons run and have had nothing done to them.
func (f *fleet) up() (list []*seat) {
	for _, s := range f.seats {
		if s.p != nil && !s.busy {
			list = append(list, s)
		}
	}
	return list
}

var errNobody = errors.New("no daemon answers")

// ask asks the daemons one after the other until one answers.
func (f *fleet) ask(method, path, body string, out any) error {
	err := errNobody
	for _, s := range f.up() {
		if err = s.p.do(method, path, body, out); err == nil {
			return nil
		}
	}
	return err
}

// members are those that are there, as the first that answers knows.
func (f *fleet) members() ([]api.Member, error) {
	var page api.Page[api.Member]
	err := f.ask("GET", "/v1/members", "", &page)
	return page.Items, err
}

// self is what a seat's daemon says of itself, with what it runs.
func (s *seat) self() (api.Member, error) {
	var page api.Page[api.Member]
	if err := s.p.do("GET", "/v1/members", "", &page); err != nil {
		return api.Member{}, err
	}
	for i := range page.Items {
		if page.Items[i].Self {
			return page.Items[i], nil
		}
	}
	return api.Member{}, fmt.Errorf("daemon %d is no member", s.n)
}

// one reads a number from the database.
func (f *fleet) one(text string) (n int64) {
	f.t.Helper()
	if err := f.db.QueryRow(f.t.Context(), text).Scan(&n); err != nil {
		f.t.Fatalf("%s: %v", text, err)
	}
	return n
}

// until waits for a condition, and says for how long; every daemon's last words are shown where it does not come.
func (f *fleet) until(what string, within time.Duration, cond func() bool) time.Duration {
	f.t.Helper()
	began := time.Now()
	for !cond() {
		f.alive()
		if time.Since(began) > within {
			var b strings.Builder
			for _, s := range f.seats {
				s.keepLog()
				fmt.Fprintf(&b, "\ndaemon %d:\n%s", s.n, s.tail())
			}
			f.t.Fatalf("%s: not within %v; what was looked for last: %s%s", what, within, f.lacks, b.String())
		}
		<-time.After(20 * time.Millisecond)
	}
	return time.Since(began)
}
