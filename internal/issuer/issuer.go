package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/outbound"
)

const (
	// Skew is how much later than its end a token is still taken, for clocks that do not agree.
	Skew = 30 * time.Second
	// askWithin bounds one question to the issuer.
	askWithin = 5 * time.Second
	// askEvery is how often at most the issuer is asked, whoever sends what; refresh how often it is.
	askEvery, refresh = 10 * time.Second, 15 * time.Minute
	// maxAge is how long keys are trusted while the issuer does not answer.
	maxAge = 24 * time.Hour
	// maxToken bounds a token, maxName what of a name goes into records.
	maxToken, maxName = 16 << 10, 200
)

// Errors of a token; test with errors.Is.
var (
	// ErrInvalid says that the issuer does not vouch for the token.
	ErrInvalid = errors.New("the token is not good")
	// ErrUnknown says that nobody can tell: there are no keys to look at it with.
	ErrUnknown = errors.New("the issuer's keys are not known")
)

// Config is whom to believe.
type Config struct {
	// URL is the issuer, as tokens name it; Audience is what they must be for.
	URL, Audience string
	// Grants are claims and what each is given, as CLAIM=VALUE=ROLE@TENANT.
	Grants []string
	// Login is how browsers log in there.
	Login Login
	// Guard is the way to the issuer.
	Guard *outbound.Guard
	// Log is needed; Now is the clock, nil for that of the machine.
	Log *slog.Logger
	Now func() time.Time
}

// Issuer knows the keys of one issuer.
type Issuer struct {
	cfg      Config
	claims   []claim
	client   *http.Client
	verifier *oidc.IDTokenVerifier
	signOn   *signOn // nil where browsers do not log in there
	keys     atomic.Pointer[keys]
	ends     atomic.Pointer[oauth2.Endpoint] // where browsers log in, and codes are taken
	trouble  atomic.Pointer[string]
	poke     chan struct{} // has one when somebody has shown a key that is not known

	mu     sync.Mutex
	asked  time.Time     // when the last question began
	asking bool          // it is not answered yet
	round  chan struct{} // closed when the next answer is there
}

// New checks the configuration; the issuer is asked by Run.
func New(cfg Config) (*Issuer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if err := secure(cfg.URL); err != nil {
		return nil, fmt.Errorf("the issuer %q: %w", outbound.Shown(cfg.URL), err)
	}
	if cfg.Audience == "" {
		return nil, errors.New("an issuer needs an audience: tokens that it gives for others are not for graphd")
	}
	claims, err := parseClaims(cfg.Grants)
	if err != nil {
		return nil, err
	}
	i := &Issuer{cfg: cfg, claims: claims, poke: make(chan struct{}, 1), round: make(chan struct{})}
	if cfg.Guard != nil { // nil is of one who checks a configuration
		i.client = cfg.Guard.Client(nil)
	}
	i.verifier = oidc.NewVerifier(cfg.URL, i, &oidc.Config{
		ClientID: cfg.Audience, SupportedSigningAlgs: algorithms(),
		Now: func() time.Time { return cfg.Now().Add(-Skew) },
	})
	i.signOn, err = i.newSignOn(&cfg.Login)
	return i, err
}

// algorithms are those with a public key. One with a shared secret would take the public key for it.
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384,
		oidc.ES512, oidc.EdDSA}
}

// secure refuses an address that others could answer for.
func secure(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("write https://host/path")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()):
		return nil
	}
	return errors.New("write https://: without TLS anybody on the way could answer for it")
}

// Form says whether a text has the form of a token that an issuer gives.
func Form(text string) bool { return strings.Count(text, ".") == 2 && len(text) <= maxToken }

// Whose is whom a token stands for. One whose claims are given nothing has no grants.
func (i *Issuer) Whose(ctx context.Context, text string) (who access.Identity, err error) {
	if !Form(text) {
		return who, ErrInvalid
	}
	if i.known() == nil {
		if i.ask(ctx); i.known() == nil {
			return who, ErrUnknown
		}
	}
	token, err := i.verifier.Verify(ctx, text)
	switch {
	case err != nil && ctx.Err() != nil:
		return who, ctx.Err()
	case err != nil:
		return who, fmt.Errorf("%w: %w", ErrInvalid, err)
	case token.Subject == "":
		return who, fmt.Errorf("%w: it names nobody", ErrInvalid)
	}
	var all map[string]any
	if err := token.Claims(&all); err != nil {
		return who, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if !isAccess(text, all) {
		return who, fmt.Errorf("%w: it is no access token", ErrInvalid)
	}
	return i.identity(token.Subject, all, token.Expiry.Add(Skew)), nil
}

// identity is whom claims of the issuer stand for, until they end.
func (i *Issuer) identity(subject string, claims map[string]any, end time.Time) (who access.Identity) {
	for _, c := range i.claims {
		if c.in(claims) {
			who.Grants = append(who.Grants, access.Granted{Name: c.name + "=" + c.value, Grant: c.grant})
		}
	}
	who.Subject = "oidc:" + strings.ToValidUTF8(subject[:min(len(subject), maxName)], "")
	who.Proof.Until = end
	who.Holds = func(now time.Time) bool { return now.Before(end) }
	return who
}

// Grants are the claims that are given something, as CLAIM=VALUE; none where no issuer is believed.
func (i *Issuer) Grants() (list []access.Granted) {
	if i == nil {
		return nil
	}
	for _, c := range i.claims {
		list = append(list, access.Granted{Name: c.name + "=" + c.value, Grant: c.grant})
	}
	return list
}

// Warnings are what health tells of the issuer.
func (i *Issuer) Warnings() []api.Warning {
	if i == nil || i.Trouble() == "" {
		return nil
	}
	return []api.Warning{{Code: api.WarnIssuerUnreachable,
		Detail: "the issuer of tokens does not give its keys; the log says why"}}
}

// Trouble is why the issuer cannot be asked, "" where it can.
func (i *Issuer) Trouble() string {
	if why := i.trouble.Load(); why != nil {
		return *why
	}
	return ""
}
