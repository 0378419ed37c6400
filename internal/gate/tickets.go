package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

const (
	// ticketLife is how long a ticket waits for its socket.
	ticketLife = 30 * time.Second
	// maxTickets bounds those that wait, maxTicketsEach those of one token, or of one who has none.
	maxTickets, maxTicketsEach = 10_000, 100
)

// tickets are those that wait for their sockets, in this process alone. The zero value is none.
type tickets struct {
	mu sync.Mutex
	// byText is by the hash of the text, so that the time of a look tells nothing of a ticket.
	byText  map[[sha256.Size]byte]*ticket
	waiting []*ticket // in the order in which they end; those that are used are among them
	each    map[string]int
}

type ticket struct {
	sum  [sha256.Size]byte
	who  access.Principal
	ends time.Time
	gone bool
}

// Ticket makes a ticket with which one socket can be opened as who, once.
func (g *Gate) Ticket(who *access.Principal) (api.Ticket, error) {
	now := g.cfg.Now()
	text := "gdt_" + access.Secret()
	k := &ticket{sum: sha256.Sum256([]byte(text)), who: *who, ends: now.Add(ticketLife)}
	if !g.tickets.add(k, now) {
		return api.Ticket{}, refuse(http.StatusTooManyRequests, api.CodeTooManyTickets,
			"too many tickets wait for their sockets; try again in half a minute")
	}
	return api.Ticket{Ticket: text, ExpiresAt: k.ends.UTC()}, nil
}

// redeem is whom a ticket is for. It is used by that, whatever comes of the socket.
func (g *Gate) redeem(ctx context.Context, c *access.Credentials) (access.Principal, error) {
	k := g.tickets.take(sha256.Sum256([]byte(c.Ticket)), g.cfg.Now())
	if k == nil || c.Tenant != "" && c.Tenant != k.who.Tenant {
		return access.Principal{}, refuse(http.StatusUnauthorized, api.CodeInvalidTicket,
			"the ticket opens nothing: it is mistyped, was used, or is older than 30 s; ask for a new one")
	}
	if err := g.Still(ctx, &k.who); err != nil {
		return access.Principal{}, err
	}
	return k.who, nil
}

func (t *tickets) add(k *ticket, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	if len(t.waiting) >= 4*maxTickets || len(t.byText) >= maxTickets || t.each[holder(&k.who)] >= maxTicketsEach {
		return false
	}
	if t.byText == nil {
		t.byText, t.each = map[[sha256.Size]byte]*ticket{}, map[string]int{}
	}
	t.byText[k.sum] = k
	t.waiting = append(t.waiting, k)
	t.each[holder(&k.who)]++
	return true
}

// holder is whose tickets are counted together.
func holder(who *access.Principal) string { return cmp.Or(who.Token, who.Subject) }

// take finds a ticket and removes it.
func (t *tickets) take(sum [sha256.Size]byte, now time.Time) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	k := t.byText[sum]
	if k != nil {
		t.remove(k)
	}
	return k
}

func (t *tickets) remove(k *ticket) {
	k.gone = true
	delete(t.byText, k.sum)
	if t.each[holder(&k.who)]--; t.each[holder(&k.who)] == 0 {
		delete(t.each, holder(&k.who))
	}
}

// expire removes those that have ended.
func (t *tickets) expire(now time.Time) {
	for len(t.waiting) > 0 && (t.waiting[0].gone || !now.Before(t.waiting[0].ends)) {
		if k := t.waiting[0]; !k.gone {
			t.remove(k)
		}
		t.waiting = t.waiting[1:]
	}
}
