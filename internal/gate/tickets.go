package gate

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/rates"
)

const (
	// ticketLife is how long a ticket waits for its socket.
	ticketLife = 30 * time.Second
	// maxTickets bounds those that wait, maxTicketsTenant those of one tenant, maxTicketsEach those of one token, or of
	// one who has none.
	maxTickets, maxTicketsTenant, maxTicketsEach = 10_000, 5_000, 100
)

// Ticket makes a ticket with which one socket can be opened as who, once, at any daemon on the store.
func (g *Gate) Ticket(ctx context.Context, who *access.Principal) (api.Ticket, error) {
	ends := g.cfg.Now().Add(ticketLife)
	text, err := g.newPass(ctx, tickets, ticketPrefix, who, ends,
		checkpoint.PassBounds{Holder: maxTicketsEach, Tenant: maxTicketsTenant, All: maxTickets})
	if errors.Is(err, checkpoint.ErrFull) {
		return api.Ticket{}, refuse(http.StatusTooManyRequests, api.CodeTooManyTickets,
			"too many tickets wait for their sockets; try again in half a minute")
	}
	if err != nil {
		return api.Ticket{}, err
	}
	return api.Ticket{Ticket: text, ExpiresAt: ends.UTC()}, nil
}

// redeem is whom a ticket is for. It is used by that, whatever comes of the socket.
func (g *Gate) redeem(ctx context.Context, c *access.Credentials) (who access.Principal, err error) {
	sum := sumOf(c.Ticket, ticketPrefix)
	if sum == "" || g.spent.has(sum) {
		return who, badTicket()
	}
	if wait := g.cfg.Failures.Spent(rates.Source(c.From)); wait > 0 {
		return who, tooMany(wait)
	}
	if !g.spent.add(sum) { // another one has it, and is on his way to the store
		return who, badTicket()
	}
	p, err := g.ask(ctx, keepWithin, func(ctx context.Context) (checkpoint.Pass, error) {
		return g.cfg.Store.TakePass(ctx, tickets, bytesOf(sum), g.cfg.Now())
	})
	if err != nil {
		return who, g.untold(ctx, c, err, badTicket())
	}
	if c.Tenant != "" && c.Tenant != p.Tenant {
		return who, badTicket()
	}
	if who, err = g.revive(ctx, &p); err != nil {
		return who, err
	}
	if err := g.Still(ctx, &who); err != nil {
		return spoken(&who), err
	}
	return who, nil
}

func badTicket() *api.Error {
	return refuse(http.StatusUnauthorized, api.CodeInvalidTicket,
		"the ticket opens nothing: it is mistyped, was used, or is older than 30 s; ask for a new one")
}
