package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/rates"
)

// The kinds of passes, and how the text of each begins.
const (
	sessions, sessionPrefix = "session", "gds_"
	tickets, ticketPrefix   = "ticket", "gdt_"
)

// maxBearer bounds what is kept of whom a pass acts as: a chain of certificates is the most of it.
const maxBearer = 16 << 10

// bearer is whom a pass acts as, as it stands in the store. It has no role: what its bearer may do follows, each time,
// from the token that is named, from the certificate that is kept, or from the line of the configuration.
type bearer struct {
	Subject string `json:"subject"`
	// Token is the id of the token it was made with.
	Token string `json:"token,omitempty"`
	// Session is the sum of the session that a ticket was made in.
	Session string `json:"session,omitempty"`
	// Chain is the certificate it was made with, and what is between it and its authority.
	Chain [][]byte `json:"chain,omitempty"`
	// Grant is the claim of the issuer's token that it was made with, which is good until Until.
	Grant string     `json:"grant,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// newPass makes a pass as who, and its text, which is nowhere else.
func (g *Gate) newPass(ctx context.Context, kind, prefix string, who *access.Principal, ends time.Time,
	b checkpoint.PassBounds) (text string, err error) {
	is := bearer{Subject: who.Subject, Token: who.Token, Session: who.Session, Chain: who.Proof.Chain,
		Grant: who.Proof.Grant}
	if !who.Proof.Until.IsZero() {
		is.Until = &who.Proof.Until
	}
	raw, err := json.Marshal(is)
	if err != nil {
		return "", fmt.Errorf("encode whom a %s acts as: %w", kind, err)
	}
	if len(raw) > maxBearer {
		return "", refuse(http.StatusRequestEntityTooLarge, api.CodeInvalidBody,
			"the chain of the certificate is too long to be kept: use a token")
	}
	text = prefix + access.Secret()
	ctx, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	return text, g.cfg.Store.AddPass(ctx, checkpoint.Pass{Kind: kind, Sum: sha256.Sum256([]byte(text)),
		Tenant: who.Tenant, Holder: holder(who), Made: g.cfg.Now(), Ends: ends, Who: raw}, b)
}

// holder is whose passes are counted together and end together.
func holder(who *access.Principal) string { return cmp.Or(who.Token, who.Subject) }

// revive is whom a pass acts as now; beside an error whom it was made for, who may do nothing.
func (g *Gate) revive(ctx context.Context, p *checkpoint.Pass) (who access.Principal, err error) {
	var is bearer
	if err := json.Unmarshal(p.Who, &is); err != nil {
		return who, fmt.Errorf("decode whom a %s acts as: %w", p.Kind, err)
	}
	defer func() {
		if who.Session = is.Session; err != nil {
			who = access.Principal{Tenant: p.Tenant, Subject: is.Subject, Token: is.Token} // for the audit
		}
	}()
	switch {
	case is.Token != "":
		t, err := g.find(ctx, is.Token)
		if err == nil && (!t.Live(g.cfg.Now()) || !t.Admits(p.Tenant)) {
			err = invalid()
		}
		if err != nil {
			return who, err
		}
		return t.Principal(p.Tenant), nil
	case len(is.Chain) > 0:
		return g.certifiedAgain(is.Chain, p.Tenant)
	case is.Grant != "":
		return g.grantedAgain(&is, p.Tenant)
	case g.Closed():
		return who, invalid()
	}
	return access.Principal{Tenant: p.Tenant, Subject: is.Subject, Role: access.PlatformAdmin}, nil
}

// certifiedAgain is whom a certificate stands for today, by this daemon's authorities and configuration.
func (g *Gate) certifiedAgain(raw [][]byte, tenant string) (who access.Principal, err error) {
	chain := make([]*x509.Certificate, len(raw))
	for i, der := range raw {
		if chain[i], err = x509.ParseCertificate(der); err != nil {
			return who, fmt.Errorf("the certificate of a pass: %w", err)
		}
	}
	if g.cfg.Certificates == nil {
		return who, invalid()
	}
	is, ok := g.cfg.Certificates(chain)
	if !ok {
		return who, invalid()
	}
	if who, ok = is.Principal(tenant); !ok {
		return who, invalid()
	}
	return who, nil
}

// grantedAgain is what a claim of the issuer's token is given today, as long as that token is good.
func (g *Gate) grantedAgain(is *bearer, tenant string) (who access.Principal, err error) {
	if is.Until == nil || !g.cfg.Now().Before(*is.Until) {
		return who, invalid()
	}
	until := *is.Until
	again := access.Identity{Subject: is.Subject, Proof: access.Proof{Until: until},
		Holds: func(now time.Time) bool { return now.Before(until) }}
	for _, line := range g.cfg.Grants {
		if line.Name == is.Grant {
			again.Grants = append(again.Grants, line)
		}
	}
	who, ok := again.Principal(tenant)
	if !ok {
		return who, invalid()
	}
	return who, nil
}

// ask asks the store about a pass, as one of few.
func (g *Gate) ask(ctx context.Context, wait time.Duration,
	what func(context.Context) (checkpoint.Pass, error)) (p checkpoint.Pass, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	leave, err := g.turn(ctx)
	if err != nil {
		return p, err
	}
	defer leave()
	return what(ctx)
}

// untold is the refusal of one whose pass the store knows nothing of, or cannot be asked about. Who shows what is none
// counts as one who guesses.
func (g *Gate) untold(ctx context.Context, c *access.Credentials, err error, none *api.Error) error {
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		g.cfg.Failures.Take(rates.Source(c.From), 1)
		return none
	case ctx.Err() != nil:
		return ctx.Err()
	}
	g.cfg.Log.Warn("a browser's session or a ticket cannot be looked up, and who shows it is turned away",
		slog.Any("err", err))
	return refuse(http.StatusServiceUnavailable, api.CodeTokensUnreadable,
		"the store does not tell whether it is good; try again, with a new ticket where it was one")
}

// sumOf is the sum of a text that has the form of a pass; "" of another.
func sumOf(text, prefix string) string {
	if len(text) != len(prefix)+access.SecretLen || !strings.HasPrefix(text, prefix) {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// bytesOf is the sum that sumOf wrote.
func bytesOf(sum string) (b [sha256.Size]byte) {
	_, _ = hex.Decode(b[:], []byte(sum)) // it was written by sumOf
	return b
}
