package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/server/agents"
	"github.com/graphd/graphd/internal/server/arrival"
	"github.com/graphd/graphd/internal/server/body"
	"github.com/graphd/graphd/internal/server/forward"
	"github.com/graphd/graphd/internal/server/wire"
)

// Config is how a server is set up. The zero value of a field means its default.
type Config struct {
	// Log takes what the server has to say; nil discards it.
	Log *slog.Logger
	// LogLevel is the level of Log, where it can be set at run time; nil is that of nobody here.
	LogLevel *slog.LevelVar
	// Profiles has administrators of the platform given profiles of the process.
	Profiles bool
	// Gate knows who comes in. It is needed: without one nobody could be let in or turned away.
	Gate Gate
	// TLS is what connections are made with; nil is none: everything goes over the network as it is.
	TLS *tls.Config
	// Members are the other daemons on the store, which requests are forwarded to and come from; nil is none.
	Members *forward.Members
	// Warnings are what health tells although the daemon is ready; nil has none.
	Warnings func() []api.Warning
	// Trail is the audit that changes are written to; nil is none.
	Trail *audit.Trail
	// Quotas are those of tenants; nil bounds nobody.
	Quotas *quota.Book
	// Agents is what agents may do over /mcp; the zero value is nothing.
	Agents agents.Mode
	// Metrics answers GET /metrics with what is of the graphs that sees says yes to, and with all
	// there is where sees is nil; nil makes it 404.
	Metrics func(sees func(tenant, graph string) bool) http.Handler
	// Version answers GET /version.
	Version api.Version
	// Hosts and Origins are what package page is told: the names a request may be addressed to, beside
	// addresses and localhost, and the web origins that may use the API from a browser.
	Hosts, Origins []string

	// MaxBody bounds a request body and a WebSocket frame, decompressed too, in bytes; default 8 MiB.
	MaxBody int64
	// MaxBodies bounds the bytes of all bodies being read at one time; default [body.Room].
	MaxBodies int64
	// MaxDepth bounds the nesting of JSON; default 64, at most 1,000.
	MaxDepth int
	// MaxHeader bounds a request's line and headers, in bytes; default 64 KiB.
	MaxHeader int
	// PushTimeout is how long a full queue, and a journal that cannot be written, hold a REST push
	// up; default 5 s.
	PushTimeout time.Duration
	// Arrivals bound connections, requests, pushes and slow clients.
	Arrivals arrival.Config

	// MaxSockets bounds the WebSocket connections; default 1,024.
	MaxSockets int
	// FramesPerSecond holds back the reading of a WebSocket connection that sends more; 0: no limit.
	FramesPerSecond int
	// PingInterval is the time between pings; default 20 s.
	PingInterval time.Duration
	// SocketWriteTimeout is how long a client may take to accept a write; default 5 s.
	SocketWriteTimeout time.Duration
}

// Validate reports every field that makes no sense; the zero Config is valid.
func (c *Config) Validate() error {
	var errs []error
	for name, n := range map[string]int64{
		"MaxBody": c.MaxBody, "MaxBodies": c.MaxBodies, "MaxDepth": int64(c.MaxDepth), "MaxHeader": int64(c.MaxHeader),
		"PushTimeout": int64(c.PushTimeout), "MaxSockets": int64(c.MaxSockets),
		"FramesPerSecond": int64(c.FramesPerSecond),
		"PingInterval":    int64(c.PingInterval), "SocketWriteTimeout": int64(c.SocketWriteTimeout),
	} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("server config: %s is %d, and must not be negative", name, n))
		}
	}
	if err := errors.Join(c.Agents.Validate(), c.Arrivals.Validate()); err != nil {
		errs = append(errs, fmt.Errorf("server config: %w", err))
	}
	if c.MaxDepth > wire.MaxDepth {
		errs = append(errs, fmt.Errorf("server config: MaxDepth is %d, and can be %d at most", c.MaxDepth,
			wire.MaxDepth))
	}
	return errors.Join(errs...)
}

// withDefaults is a copy with every zero field filled in.
func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	orDefault(&c.MaxBody, 8<<20)
	orDefault(&c.MaxBodies, body.Room(c.MaxBody))
	orDefault(&c.MaxDepth, 64)
	orDefault(&c.MaxHeader, 64<<10)
	orDefault(&c.PushTimeout, 5*time.Second)
	orDefault(&c.Arrivals.HeaderTimeout, 5*time.Second)
	orDefault(&c.Arrivals.RequestTimeout, 2*time.Minute)
	orDefault(&c.Arrivals.IdleTimeout, 2*time.Minute)
	orDefault(&c.Arrivals.WriteTimeout, 30*time.Second)
	orDefault(&c.MaxSockets, 1024)
	orDefault(&c.PingInterval, 20*time.Second)
	orDefault(&c.SocketWriteTimeout, 5*time.Second)
	return c
}

func orDefault[T int | int64 | time.Duration](p *T, def T) {
	if *p == 0 {
		*p = def
	}
}
