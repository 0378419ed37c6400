package body

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// unread fails the test that reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("it was read")
	return 0, io.EOF
}

// A4, A11: who sends has half of the room for bodies, and its tenant three quarters, so that another's are read; what
// there is no room for is refused before it is read; and all is given back.
func TestRoomIsShared(t *testing.T) {
	t.Parallel()
	const max, each = 100 << 10, 400 << 10
	all := &Reader{Max: max, MaxAll: each}
	var held []Body
	send := func(tenant, token string, body io.Reader) error {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
		r.ContentLength = max
		b, err := all.Read(httptest.NewRecorder(), r, &access.Principal{Tenant: tenant, Token: token})
		if err == nil {
			held = append(held, b)
		}
		return err
	}
	whole := func() io.Reader { return bytes.NewReader(make([]byte, max)) }
	taken := func(tenant, token string) {
		t.Helper()
		if err := send(tenant, token, whole()); err != nil {
			t.Errorf("%s of %s: %v", token, tenant, err)
		}
	}
	full := func(tenant, token string) {
		t.Helper()
		e, ok := errors.AsType[*api.Error](send(tenant, token, unread{t}))
		if !ok || e.Status != http.StatusServiceUnavailable || e.Code != api.CodeBusy {
			t.Errorf("%s of %s is let in: %v", token, tenant, e)
		}
	}
	taken("loud", "one")
	full("loud", "one")
	taken("loud", "two")
	full("loud", "three")
	taken("calm", "")
	full("other", "")
	for i := range held {
		held[i].Free()
	}
	if all.Used() != 0 || len(all.each) != 0 {
		t.Errorf("%d bytes are left, of %v", all.Used(), all.each)
	}
	taken("loud", "one")
}

// A4: the room for bodies is a part of the limit of memory, and enough for two.
func TestRoomIsPartOfTheMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ memory, each, want int64 }{
		{1<<63 - 1, 8 << 20, 256 << 20}, {16 << 30, 8 << 20, 256 << 20}, {1 << 30, 8 << 20, 64 << 20},
		{128 << 20, 8 << 20, 16<<20 + 2}, {128 << 20, 1 << 20, 8 << 20},
	} {
		if got := room(tt.memory, tt.each); got != tt.want {
			t.Errorf("%d with %d each: %d, want %d", tt.memory, tt.each, got, tt.want)
		}
	}
}
