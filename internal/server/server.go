package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/server/agents"
	"github.com/graphd/graphd/internal/server/arrival"
	"github.com/graphd/graphd/internal/server/body"
	"github.com/graphd/graphd/internal/server/control"
	"github.com/graphd/graphd/internal/server/once"
	"github.com/graphd/graphd/internal/server/page"
	"github.com/graphd/graphd/internal/server/process"
	"github.com/graphd/graphd/internal/server/site"
	"github.com/graphd/graphd/internal/server/socket"
	"github.com/graphd/graphd/internal/server/wire"
	"github.com/graphd/graphd/web"
)

// Server serves one Control. It is safe for concurrent use.
type Server struct {
	cfg       Config
	ctl       Control
	router    *chi.Mux
	http      *http.Server
	peers     *http.Server // of requests that other members forward; nil without
	pages     *page.Rules
	site      *site.Site
	agents    *agents.Service
	idem      *once.Keys
	hub       *socket.Hub
	started   time.Time
	arrivals  *arrival.Guard
	bodies    body.Reader
	refusals  wire.Refusals
	readiness control.Readiness
	log       process.Log
	profiles  *process.Profiles
	// stopping is set when Shutdown begins: readyz says so, new sockets are refused.
	stopping atomic.Bool
}

// askAgain is how often a connection's right to stay is looked at. Together with how long the gate
// trusts what it knows it is less than the five seconds after which a revoked token is good nowhere.
const askAgain = time.Second

// maxStreams is how many requests of one HTTP/2 connection are under way at one time.
const maxStreams = 100

// Stats are the server's own figures, for a metrics collector to read.
type Stats struct {
	// WebSockets is how many connections are open now; SlowClosed how many were closed
	// because their client took nothing for the write timeout; both for the metrics
	// graphd_websocket_clients and graphd_websocket_slow_closed_total.
	WebSockets, SlowClosed int64
	// BodyBytes is how many bytes of large request bodies are in memory now.
	BodyBytes int64
	// Refused is how often a limit has refused something, by the code of the refusal.
	Refused map[string]int64
}

// New makes a server over ctl. It listens nowhere until [Server.Serve].
func New(ctl Control, cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Gate == nil {
		return nil, errors.New("server config: Gate is missing: who comes in must be known")
	}
	ctl = control.Audited(ctl, cfg.Trail)
	s := &Server{cfg: cfg.withDefaults(), ctl: ctl, idem: once.New(), started: time.Now()}
	s.log = process.NewLog(s.cfg.LogLevel, s.cfg.Log, s.cfg.Trail)
	s.profiles = process.NewProfiles(s.cfg.Profiles, s.cfg.Log)
	s.bodies.Max, s.bodies.MaxAll = s.cfg.MaxBody, s.cfg.MaxBodies
	var err, wrong error
	s.pages, err = page.New(cfg.Hosts, cfg.Origins)
	s.arrivals, wrong = arrival.New(cfg.Arrivals)
	var torn error
	s.site, torn = site.New(web.Files)
	if err = errors.Join(err, wrong, torn); err != nil {
		return nil, fmt.Errorf("server config: %w", err)
	}
	s.hub = socket.NewHub(ctl, socket.Config{
		Log: s.cfg.Log, Max: s.cfg.MaxSockets, MaxFrame: s.cfg.MaxBody,
		MaxDepth: s.cfg.MaxDepth, FramesPerSecond: s.cfg.FramesPerSecond, PingInterval: s.cfg.PingInterval,
		WriteTimeout: s.cfg.SocketWriteTimeout, Still: s.cfg.Gate.Still, AskAgain: askAgain,
		Moved:  s.cfg.Members.Elsewhere,
		Take:   func(tenant string) (func(), error) { return s.cfg.Quotas.Take(tenant, quota.Sockets) },
		Frames: s.arrivals.Frames,
		Denied: func(ctx context.Context, command, graph string) {
			cfg.Trail.Denied(audit.By(ctx), command, graph, api.CodeForbidden)
		},
	})
	s.router = s.routes()
	s.agents = agents.New(agents.Config{Mode: s.cfg.Agents, Version: s.cfg.Version.Version, REST: s.router,
		MaxDepth: s.cfg.MaxDepth, Log: s.cfg.Log})
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.cfg.Arrivals.HeaderTimeout,
		ReadTimeout:       s.cfg.Arrivals.RequestTimeout,
		IdleTimeout:       s.cfg.Arrivals.IdleTimeout,
		MaxHeaderBytes:    s.cfg.MaxHeader,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: s.cfg.Arrivals.WriteTimeout,
			SendPingTimeout: s.cfg.PingInterval, PingTimeout: s.cfg.Arrivals.WriteTimeout},
		ErrorLog: arrival.Handshakes(s.cfg.Log),
	}
	if m := s.cfg.Members; m != nil {
		s.peers = m.Server(http.HandlerFunc(s.fromMember), s.cfg.Log, s.cfg.Arrivals.HeaderTimeout,
			s.cfg.Arrivals.RequestTimeout)
	}
	return s, nil
}

// Serve answers requests on ln until [Server.Shutdown], and returns nil then. The
// requests' contexts descend from ctx. It is called once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	defer s.serveMembers(ctx)()
	if err := s.accept(s.arrivals.Listen(ln, s.cfg.TLS == nil)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// accept serves until the end, with TLS where there is a configuration of it.
func (s *Server) accept(ln net.Listener) error {
	if s.cfg.TLS == nil {
		return s.http.Serve(ln)
	}
	s.http.TLSConfig = s.cfg.TLS
	return s.http.ServeTLS(ln, "", "")
}

// Shutdown stops accepting, lets the requests under way end, closes every WebSocket
// connection with 1001, and returns when nothing of the server runs any more. When ctx
// ends first it cuts what is left off, and says so in its error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopping.Store(true)
	s.hub.Close()
	s.cfg.Members.CloseSockets()
	s.profiles.Close()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests still under way were cut off: %w", err), s.http.Close())
	}
	if s.peers != nil && s.peers.Shutdown(ctx) != nil { // those are other members', which have heard that it ends
		err = errors.Join(err, s.peers.Close())
	}
	return errors.Join(err, s.hub.Join(ctx))
}

// Stats reads the server's own figures.
func (s *Server) Stats() Stats {
	refused := s.refusals.All()
	refused[api.CodeTooManyConnections] += s.arrivals.Refused()
	maps.Copy(refused, s.cfg.Trail.Refused()) // these names are the trail's alone
	return Stats{WebSockets: s.hub.Open(), SlowClosed: s.hub.SlowClosed(), BodyBytes: s.bodies.Used(), Refused: refused}
}

// ServeHTTP is the way of every request: panics are caught, the host and the origin are
// checked, and the access log gets its line.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rw := &wire.Response{ResponseWriter: w, Stall: s.cfg.Arrivals.WriteTimeout}
	if s.cfg.Log.Enabled(r.Context(), slog.LevelDebug) {
		defer s.logAccess(rw, r, time.Now())
	}
	defer s.recoverPanic(rw, r)
	r, err := s.arrivals.From(r)
	if err != nil {
		s.fail(rw, &request{Request: r}, err)
		return
	}
	if !s.pages.Known(r.Host) {
		s.fail(rw, &request{Request: r}, wire.Refuse(http.StatusMisdirectedRequest, api.CodeMisdirected,
			fmt.Sprintf("this daemon does not answer to the host %q: call it by its address, or have --hosts name it",
				wire.Clip(r.Host))))
		return
	}
	s.pages.Allow(rw.Header(), r)
	if s.pages.Foreign(r) && !page.Followed(r) {
		s.fail(rw, &request{Request: r}, wire.Refuse(http.StatusForbidden, api.CodeCrossOrigin,
			"a page of another origin may do nothing here, unless --origins names that origin"))
		return
	}
	if page.Preflight(r) {
		page.Answer(rw)
		return
	}
	if r.Method == http.MethodHead && !strings.HasPrefix(r.URL.Path, "/v1/ws/") {
		get := *r // a HEAD is answered by the route's GET; net/http leaves the body out
		get.Method = http.MethodGet
		r = &get
	}
	s.router.ServeHTTP(rw, r)
}

// recoverPanic turns a panic of a handler into a 500; the daemon goes on. An answer
// that had begun cannot be taken back: then the connection is cut, so that the client sees it is not whole.
func (s *Server) recoverPanic(rw *wire.Response, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	// net/http's own word for cutting the connection
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	s.cfg.Log.Error("request panicked", slog.String("method", r.Method), slog.String("path", wire.Clip(r.URL.Path)),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	if rw.Status != 0 {
		panic(http.ErrAbortHandler)
	}
	wire.WriteProblem(rw, wire.Refuse(http.StatusInternalServerError, api.CodeInternal,
		"the daemon failed on this request; its log says why"), "")
}

// logAccess never logs the query: tickets and keys could be in it.
func (s *Server) logAccess(rw *wire.Response, r *http.Request, began time.Time) {
	s.cfg.Log.Debug("request", slog.String("method", r.Method), slog.String("path", wire.Clip(r.URL.Path)),
		slog.Int("status", rw.Status),
		slog.Int64("bytes", rw.Bytes), slog.Duration("took", time.Since(began)), slog.String("remote", r.RemoteAddr))
}

var _ http.Handler = (*Server)(nil)
