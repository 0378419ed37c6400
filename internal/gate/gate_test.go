package gate

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/rates"
)

func newGate(t *testing.T, s *store, change func(*Config)) *Gate {
	t.Helper()
	cfg := Config{Store: s, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	g, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func enter(t *testing.T, g *Gate, c access.Credentials, code string) access.Principal {
	t.Helper()
	c.Given = c.Given || c.Bearer != ""
	who, err := g.Enter(t.Context(), &c)
	if codeOf(err) != code {
		t.Errorf("%+v: got %v, want %q", access.Credentials{Tenant: c.Tenant, Given: c.Given}, err, code)
	}
	if err != nil && who.Role != access.NoRole {
		t.Errorf("one who is turned away is %+v", who)
	}
	return who
}

func newToken(t *testing.T, g *Gate, who access.Principal, q api.TokenRequest) api.NewToken {
	t.Helper()
	if q.Name == "" {
		q.Name = "test"
	}
	made, err := g.Create(t.Context(), &who, &q)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestOpensAndCloses: the first token closes the gate, and nothing opens it again.
func TestOpensAndCloses(t *testing.T) {
	t.Parallel()
	s := newStore()
	g := newGate(t, s, nil)
	local := enter(t, g, access.Credentials{From: "127.0.0.1", Tenant: "acme", Bearer: "anything"}, "")
	if want := (access.Principal{Tenant: "acme", Subject: "anonymous@127.0.0.1",
		Role: access.PlatformAdmin}); local.Tenant != want.Tenant || local.Subject != want.Subject ||
		local.Role != want.Role || local.Token != "" {
		t.Errorf("an open gate lets %+v in", local)
	}
	if _, err := g.Create(t.Context(), &local, &api.TokenRequest{Name: "x", Role: "author"}); codeOf(err) !=
		api.CodeFirstToken {
		t.Errorf("a first token that administers nothing: %v", err)
	}
	root := newToken(t, g, local, api.TokenRequest{Role: "platform-admin"})
	enter(t, g, access.Credentials{}, api.CodeUnauthenticated)
	enter(t, g, access.Credentials{Given: true}, api.CodeInvalidToken)
	if err := g.Still(t.Context(), &local); codeOf(err) != api.CodeInvalidToken {
		t.Errorf("who came in before stays: %v", err)
	}
	who := enter(t, g, access.Credentials{Bearer: root.Text}, "")
	if who.Tenant != checkpoint.DefaultTenant || !who.SeesAll() {
		t.Errorf("got %+v", who)
	}
	if err := g.Revoke(t.Context(), &who, root.ID); err != nil {
		t.Fatal(err)
	}
	enter(t, g, access.Credentials{Bearer: root.Text}, api.CodeInvalidToken)
	again := newGate(t, s, nil) // as after a restart: a store that has had a token says so for good
	enter(t, again, access.Credentials{}, api.CodeUnauthenticated)
	if text, err := again.Bootstrap(t.Context(), "second", "test"); err != nil || !strings.HasPrefix(text, "gd_") {
		t.Errorf("the way back in: %v", err)
	}
	if _, err := again.Bootstrap(t.Context(), "third", "test"); !errors.Is(err, ErrThere) {
		t.Errorf("a second first token: %v", err)
	}
	enter(t, newGate(t, newStore(), func(c *Config) { c.Required = true }), access.Credentials{},
		api.CodeUnauthenticated)
	s.fails(io.ErrUnexpectedEOF)
	if _, err := New(t.Context(), Config{Store: s}); err == nil {
		t.Error("a gate is made although nobody knows whether there are tokens")
	}
}

// TestShared: an open gate hears of a token that another daemon has made, and a store that is away
// opens nothing.
func TestShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		here, there := newGate(t, s, func(c *Config) { c.Shared = true }), newGate(t, s, nil)
		local := enter(t, here, access.Credentials{}, "")
		newToken(t, there, local, api.TokenRequest{Role: "platform-admin"})
		s.fails(io.ErrUnexpectedEOF)
		time.Sleep(trust)
		enter(t, here, access.Credentials{}, "") // it cannot know yet
		s.fails(nil)
		time.Sleep(trust)
		enter(t, here, access.Credentials{}, api.CodeUnauthenticated)
		s.fails(io.ErrUnexpectedEOF)
		time.Sleep(time.Hour)
		enter(t, here, access.Credentials{}, api.CodeUnauthenticated)
	})
}

// TestRevoked: a token that another daemon has revoked is good nowhere after five seconds, also
// when the store is away or slow; one that cannot be looked up opens nothing.
func TestRevoked(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(*store){
		"well": func(*store) {},
		"away": func(s *store) { s.fails(io.ErrUnexpectedEOF) },
		"slow": func(s *store) { s.slow = time.Hour },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore()
			here, there := newGate(t, s, nil), newGate(t, s, nil)
			admin := access.Principal{Tenant: "default", Role: access.PlatformAdmin}
			root := newToken(t, there, admin, api.TokenRequest{Role: "platform-admin"})
			here.closed.Store(true)
			who := enter(t, here, access.Credentials{Bearer: root.Text}, "")
			if err := there.Revoke(t.Context(), &admin, root.ID); err != nil {
				t.Fatal(err)
			}
			enter(t, there, access.Credentials{Bearer: root.Text}, api.CodeInvalidToken)
			trouble(s)
			began := time.Now()
			for here.Still(t.Context(), &who) == nil { // as a socket asks
				time.Sleep(time.Second)
			}
			if took := time.Since(began); took >= 5*time.Second {
				t.Errorf("%s: a socket stays for %v", name, took)
			}
			if _, err := here.Enter(t.Context(), &access.Credentials{Given: true, Bearer: root.Text}); err == nil {
				t.Errorf("%s: a revoked token opens", name)
			}
		})
	}
}

// TestLookups: the store is asked once in a while and not for each request, a use is written less
// often still, and unknown tokens do not take all of the store.
func TestLookups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		g := newGate(t, s, nil)
		admin := access.Principal{Tenant: "default", Role: access.PlatformAdmin}
		root := newToken(t, g, admin, api.TokenRequest{Role: "platform-admin"})
		s.asked.Store(0)
		for range 3600 {
			enter(t, g, access.Credentials{Bearer: root.Text}, "")
			time.Sleep(time.Second)
		}
		if n := s.asked.Load(); n > 2000 {
			t.Errorf("the store was asked %d times in an hour", n)
		}
		if n := s.marked.Load(); n < 5 || n > 7 {
			t.Errorf("the use was written %d times in an hour", n)
		}
		time.Sleep(access.DefaultLife)
		enter(t, g, access.Credentials{Bearer: root.Text}, api.CodeInvalidToken)

		s.slow = time.Minute
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				text := access.Mint(&access.Token{})
				if _, err := g.Enter(t.Context(), &access.Credentials{Given: true, Bearer: text}); codeOf(err) !=
					api.CodeTokensUnreadable {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		if n := s.most.Load(); n > maxAsking {
			t.Errorf("%d questions were on their way at once", n)
		}
	})
}

// TestTenants: a token is for its tenant, and all others are answered alike; nobody gives more than
// they have.
func TestTenants(t *testing.T) {
	t.Parallel()
	s := newStore()
	g := newGate(t, s, nil)
	root := access.Principal{Tenant: "default", Subject: "root", Role: access.PlatformAdmin}
	newToken(t, g, root, api.TokenRequest{Role: "platform-admin"})
	acme, all := "acme", access.AllTenants
	admin := newToken(t, g, root, api.TokenRequest{Role: "tenant-admin", Tenant: &acme})
	scrape := newToken(t, g, root, api.TokenRequest{Role: "viewer", Tenant: &all})
	who := enter(t, g, access.Credentials{Bearer: admin.Text}, "")
	if who.Tenant != "acme" || who.SeesAll() {
		t.Errorf("got %+v", who)
	}
	enter(t, g, access.Credentials{Bearer: admin.Text, Tenant: "acme"}, "")
	enter(t, g, access.Credentials{Bearer: admin.Text, Tenant: "default"}, api.CodeTenantNotFound)
	enter(t, g, access.Credentials{Bearer: admin.Text, Tenant: "nobody"}, api.CodeTenantNotFound)
	if who := enter(t, g, access.Credentials{Bearer: scrape.Text, Tenant: "acme"}, ""); who.Tenant != "acme" ||
		who.SeesAll() || !who.May(access.Read) {
		t.Errorf("got %+v", who)
	}
	other := "other"
	for _, q := range []api.TokenRequest{{Role: "platform-admin"}, {Role: "viewer", Tenant: &all},
		{Role: "viewer", Tenant: &other}} {
		q.Name = "more"
		if _, err := g.Create(t.Context(), &who, &q); codeOf(err) != api.CodeForbidden {
			t.Errorf("%+v: %v", q, err)
		}
	}
	own := newToken(t, g, who, api.TokenRequest{Role: "tenant-admin"})
	if list, err := g.List(t.Context(), &who); err != nil || len(list) != 2 {
		t.Errorf("the tenant's tokens: %+v, %v", list, err)
	}
	if list, err := g.List(t.Context(), &root); err != nil || len(list) != 4 {
		t.Errorf("all tokens: %+v, %v", list, err)
	}
	first := newToken(t, g, root, api.TokenRequest{Role: "platform-admin", Name: "asks"})
	asks := enter(t, g, access.Credentials{Bearer: first.Text, Tenant: "acme"}, "")
	if list, err := g.List(t.Context(), &asks); err != nil || len(list) != 2 {
		t.Errorf("the tokens of the tenant that was asked for: %+v, %v", list, err)
	}
	for tenant, want := range map[string]bool{"acme": true, "default": false, access.AllTenants: false} {
		if asks.Looks(tenant) != want || !root.Looks(tenant) || who.Looks(tenant) != want {
			t.Errorf("%s: who has asked for acme looks at it: %v", tenant, !want)
		}
	}
	missing := g.Revoke(t.Context(), &who, "aaaaaaaaaaaa")
	if foreign := g.Revoke(t.Context(), &who, scrape.ID); foreign == nil || foreign.Error() != missing.Error() {
		t.Errorf("a foreign token is answered with %v, a missing one with %v", foreign, missing)
	}
	if err := g.Revoke(t.Context(), &who, own.ID); err != nil {
		t.Error(err)
	}
}

// TestTickets: of a thousand that redeem one ticket at once, at two daemons on one store, one comes in; a daemon asks
// the store once, whatever is sent.
func TestTickets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		g := newGate(t, s, nil)
		root := access.Principal{Tenant: "default", Subject: "root", Role: access.PlatformAdmin}
		made := newToken(t, g, root, api.TokenRequest{Role: "platform-admin"})
		there := newGate(t, s, nil)
		who := enter(t, g, access.Credentials{Bearer: made.Text, Tenant: "acme"}, "")
		ticket := func() string {
			t.Helper()
			k, err := g.Ticket(t.Context(), &who)
			if err != nil {
				t.Fatal(err)
			}
			return k.Ticket
		}
		text := ticket()
		s.asked.Store(0)
		var in atomic.Int64
		var wg sync.WaitGroup
		for i := range 1000 {
			at := []*Gate{g, there}[i%2]
			wg.Go(func() {
				got, err := at.Enter(t.Context(), &access.Credentials{Ticket: text})
				switch {
				case err == nil && got.Tenant == "acme" && got.Token == who.Token && got.SeesAll():
					in.Add(1)
				case codeOf(err) != api.CodeInvalidTicket:
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 {
			t.Errorf("%d came in with one ticket", in.Load())
		}
		if n := s.asked.Load(); n > 4 { // two for the ticket, and one for its token
			t.Errorf("the store was asked %d times", n)
		}
		text = ticket()
		enter(t, g, access.Credentials{Ticket: text, Tenant: "other"}, api.CodeInvalidTicket)
		text = ticket()
		time.Sleep(ticketLife)
		enter(t, there, access.Credentials{Ticket: text}, api.CodeInvalidTicket)
		for range maxTicketsEach {
			text = ticket()
		}
		if _, err := g.Ticket(t.Context(), &who); codeOf(err) != api.CodeTooManyTickets {
			t.Errorf("more than there may be: %v", err)
		}
		if err := g.Revoke(t.Context(), &root, made.ID); err != nil {
			t.Fatal(err)
		}
		if len(s.passes) != 0 {
			t.Errorf("%d tickets outlive their token", len(s.passes))
		}
		enter(t, g, access.Credentials{Ticket: text}, api.CodeInvalidTicket)
		text = ticket()
		enter(t, there, access.Credentials{Ticket: text}, api.CodeInvalidToken)
		s.fails(io.ErrUnexpectedEOF)
		if _, err := g.Ticket(t.Context(), &who); err == nil {
			t.Error("a ticket is made although it cannot be kept")
		}
		text = ticketPrefix + access.Secret()
		enter(t, g, access.Credentials{Ticket: text}, api.CodeTokensUnreadable)
	})
}

// TestGuessedTickets: an address that shows tickets and sessions which are none is turned away after a while without
// a look into the store; one that shows the same over and over counts once.
func TestGuessedTickets(t *testing.T) {
	t.Parallel()
	s := newStore()
	g := newGate(t, s, func(c *Config) {
		c.Required, c.Failures = true, rates.New(rates.Config{PerSecond: 1e-9, Burst: 3, Keys: 10})
	})
	from := "192.0.2.1"
	same := sessionPrefix + access.Secret()
	for range 100 {
		enter(t, g, access.Credentials{From: from, Session: same}, api.CodeUnauthenticated)
		enter(t, g, access.Credentials{From: from, Ticket: "gdt_x"}, api.CodeInvalidTicket)
	}
	if n := s.asked.Load(); n > 2 {
		t.Errorf("the store was asked %d times", n)
	}
	enter(t, g, access.Credentials{From: from, Ticket: ticketPrefix + access.Secret()}, api.CodeInvalidTicket)
	enter(t, g, access.Credentials{From: from, Session: sessionPrefix + access.Secret()}, api.CodeUnauthenticated)
	enter(t, g, access.Credentials{From: from, Ticket: ticketPrefix + access.Secret()}, api.CodeRateLimited)
	enter(t, g, access.Credentials{From: from, Session: sessionPrefix + access.Secret()}, api.CodeRateLimited)
	enter(t, g, access.Credentials{From: "192.0.2.2", Ticket: ticketPrefix + access.Secret()}, api.CodeInvalidTicket)
}
