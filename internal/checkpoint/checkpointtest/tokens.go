package checkpointtest

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/checkpoint"
)

// A token comes back as it was kept, without its secret; what is noted of it stays, and it is never gone.
func testTokens(t *testing.T, s *subject) {
	utc := func(second int) time.Time { return at(second).UTC() }
	wide := access.Token{ID: "aaaaaaaaaaaa", Tenant: access.AllTenants, Name: "root", Role: access.PlatformAdmin,
		Sum: sha256.Sum256([]byte("a")), CreatedBy: "bootstrap", Created: at(1), Expires: at(100)}
	narrow := access.Token{ID: "bbbbbbbbbbbb", Tenant: "acme", Name: "it's \"quoted\"", Role: access.Viewer,
		Scope: access.Scope{Graphs: []string{"fx_*", "a[bc]"}, Reading: true}, Sum: sha256.Sum256([]byte("b")),
		CreatedBy: "root", Created: at(2), Expires: at(100)}
	for _, tok := range []access.Token{wide, narrow} {
		if err := s.AddToken(t.Context(), tok); err != nil {
			t.Fatalf("add: %v", err)
		}
	}
	if err := s.AddToken(t.Context(), access.Token{ID: wide.ID, Role: access.Viewer, Created: at(3),
		Expires: at(4)}); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("a token of an id that is taken: %v", err)
	}
	for i, tok := range []*access.Token{&wide, &narrow} {
		tok.Created, tok.Expires = utc(i+1), utc(100)
	}
	s.again(t)
	list := func(tenant string, want ...access.Token) {
		t.Helper()
		got, err := s.Tokens(t.Context(), tenant)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		diff(t, "tokens of "+tenant, got, want)
	}
	list("", narrow, wide)
	list("acme", narrow)
	list("other")

	mark := func(revoked, used time.Time) {
		t.Helper()
		if err := s.MarkToken(t.Context(), narrow.ID, revoked, used); err != nil {
			t.Errorf("mark: %v", err)
		}
	}
	mark(time.Time{}, at(20))
	mark(time.Time{}, at(10)) // late: the last use counts
	narrow.Used = utc(20)
	list("acme", narrow)
	mark(at(30), time.Time{})
	mark(at(40), time.Time{}) // again: the first counts
	narrow.Revoked = utc(30)
	s.again(t)
	got, err := s.Token(t.Context(), narrow.ID)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "a token that was revoked", got, narrow)
	list("", narrow, wide)
	if _, err := s.Token(t.Context(), "cccccccccccc"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a token that is not there: %v", err)
	}
	if err := s.MarkToken(t.Context(), "cccccccccccc", at(1), at(1)); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("the mark of a token that is not there: %v", err)
	}
}
