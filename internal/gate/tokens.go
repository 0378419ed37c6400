package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
)

// Create makes a token for who, who may give on no more than they have.
func (g *Gate) Create(ctx context.Context, who *access.Principal, q *api.TokenRequest) (api.NewToken, error) {
	now := g.cfg.Now().Truncate(time.Second)
	role, _ := access.ParseRole(q.Role) // what is none is refused below
	t := access.Token{
		Name: q.Name, Role: role, Tenant: who.Tenant, Scope: access.Scope{Graphs: q.Graphs, Reading: q.ReadOnly},
		CreatedBy: who.Subject, Created: now, Expires: now.Add(access.DefaultLife),
	}
	switch {
	case q.Tenant != nil:
		t.Tenant = *q.Tenant
	case role == access.PlatformAdmin:
		t.Tenant = access.AllTenants
	}
	if q.ExpiresInSeconds != nil {
		seconds := min(max(*q.ExpiresInSeconds, 0), int64(2*access.MaxLife/time.Second))
		t.Expires = now.Add(time.Duration(seconds) * time.Second)
	}
	if err := t.Validate(); err != nil {
		return api.NewToken{}, refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody, err.Error())
	}
	switch {
	case (t.Tenant != who.Tenant || role == access.PlatformAdmin) && !who.SeesAll():
		return api.NewToken{}, refuse(http.StatusForbidden, api.CodeForbidden,
			"a tenant's administrator gives tokens of that tenant, and none that is an administrator of all")
	case !g.Closed() && role != access.PlatformAdmin:
		return api.NewToken{}, refuse(http.StatusConflict, api.CodeFirstToken,
			"with its first token the daemon asks everybody for one: let the first be a platform-admin's")
	}
	text, err := g.add(ctx, &t)
	if err != nil {
		return api.NewToken{}, err
	}
	return api.NewToken{Token: told(&t), Text: text}, nil
}

// add keeps a new token. The gate is closed from then on, also when it is not known whether it is kept.
func (g *Gate) add(ctx context.Context, t *access.Token) (text string, err error) {
	text = access.Mint(t)
	action := audit.Action{Tenant: t.Tenant, Operation: "token create", Detail: []string{
		"token " + t.ID, "name " + t.Name, "tenant " + t.Tenant, "role " + t.Role.String(),
		"until " + t.Expires.UTC().Format(time.RFC3339),
	}}
	if t.Scope.Narrow() {
		action.Detail = append(action.Detail, fmt.Sprintf("graphs %q, read only %v", t.Scope.Graphs, t.Scope.Reading))
	}
	return audit.Do(ctx, g.cfg.Trail, action, func(ctx context.Context) (string, error) { return text, g.keep(ctx, t) },
		nil)
}

func (g *Gate) keep(ctx context.Context, t *access.Token) error {
	err := g.cfg.Store.AddToken(ctx, *t)
	if err == nil || errors.Is(err, checkpoint.ErrUnknownOutcome) {
		g.closed.Store(true)
	}
	if err != nil {
		return fmt.Errorf("keep a new token: %w", err)
	}
	return nil
}

// ErrThere says that there is no need of a first token.
var ErrThere = errors.New("a platform administrator's token is there already")

// Bootstrap makes a platform-admin's token, unless there is one that is good: then it is ErrThere.
func (g *Gate) Bootstrap(ctx context.Context, name, by string) (text string, err error) {
	all, err := g.cfg.Store.Tokens(ctx, "")
	if err != nil {
		return "", fmt.Errorf("look for tokens: %w", err)
	}
	now := g.cfg.Now().Truncate(time.Second)
	for i := range all {
		if all[i].Role == access.PlatformAdmin && all[i].Live(now) {
			return "", fmt.Errorf("%w: %s (%s) is good until %s; make others with it, or revoke it first", ErrThere,
				all[i].ID, all[i].Name, all[i].Expires.Format(time.RFC3339))
		}
	}
	t := access.Token{Name: name, Role: access.PlatformAdmin, Tenant: access.AllTenants, CreatedBy: by, Created: now,
		Expires: now.Add(access.DefaultLife)}
	if err := t.Validate(); err != nil {
		return "", err
	}
	return g.add(ctx, &t)
}

// List is the tokens that who may know of, newest first; of the tenant alone that was asked for, if one was.
func (g *Gate) List(ctx context.Context, who *access.Principal) ([]api.Token, error) {
	tenant := who.Tenant
	if who.SeesAll() && !who.Asked {
		tenant = ""
	}
	all, err := g.cfg.Store.Tokens(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	list := make([]api.Token, len(all))
	for i := range all {
		list[i] = told(&all[i])
	}
	return list, nil
}

// Revoke ends a token that who may know of: here at once, in other daemons within five seconds.
func (g *Gate) Revoke(ctx context.Context, who *access.Principal, id string) error {
	unknown := refuse(http.StatusNotFound, api.CodeTokenNotFound, "there is no token of that id; 'graphd token list' "+
		"lists those there are")
	if !access.ValidID(id) {
		return unknown
	}
	t, err := g.cfg.Store.Token(ctx, id)
	if err == nil && t.Tenant != who.Tenant && !who.SeesAll() {
		return unknown
	}
	if err == nil {
		err = g.end(ctx, &t)
	}
	if errors.Is(err, checkpoint.ErrNotFound) {
		return unknown
	}
	if err != nil {
		return fmt.Errorf("revoke a token: %w", err)
	}
	return nil
}

// end revokes a token.
func (g *Gate) end(ctx context.Context, t *access.Token) error {
	action := audit.Action{Tenant: t.Tenant, Operation: "token revoke", Detail: []string{"token " + t.ID,
		"name " + t.Name, "tenant " + t.Tenant}}
	_, err := audit.Do(ctx, g.cfg.Trail, action, func(ctx context.Context) (struct{}, error) {
		err := g.cfg.Store.MarkToken(ctx, t.ID, g.cfg.Now(), time.Time{})
		g.tokens.forget(func(id string, _ *access.Token) bool { return id == t.ID })
		g.forgetHolder(ctx, t.ID)
		return struct{}{}, err
	}, nil)
	return err
}

// told is a token as it is told.
func told(t *access.Token) api.Token {
	a := api.Token{
		ID: t.ID, Name: t.Name, Tenant: t.Tenant, Role: t.Role.String(), Graphs: t.Scope.Graphs,
		ReadOnly: t.Scope.Reading, CreatedAt: t.Created.UTC(), CreatedBy: t.CreatedBy, ExpiresAt: t.Expires.UTC(),
		LastUsedAt: orNil(t.Used), RevokedAt: orNil(t.Revoked),
	}
	if a.Graphs == nil {
		a.Graphs = []string{}
	}
	return a
}

func orNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}
