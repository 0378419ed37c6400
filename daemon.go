package graphd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/certificate"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/folder"
	"github.com/graphd/graphd/internal/gate"
	"github.com/graphd/graphd/internal/issuer"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/server"
	"github.com/graphd/graphd/internal/server/agents"
	"github.com/graphd/graphd/internal/server/arrival"
	"github.com/graphd/graphd/internal/server/control"
	"github.com/graphd/graphd/internal/server/forward"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/graphd/graphd/internal/tenancy"
	"github.com/graphd/graphd/internal/trace"
)

// Config is how a daemon is set up. The zero value of a field means its default.
type Config struct {
	// Data is the directory of the embedded store; default "graphd-data".
	Data string
	// Store is "postgres://USER@HOST/DATABASE", "sqlite:PATH" or "memory:"; default a SQLite file in Data.
	Store string
	// Listen is the address of the control plane, host:port; port 0 picks one; default
	// "127.0.0.1:8080". Other than loopback needs tokens, or Insecure. With ListenNone there is none.
	Listen   string
	Insecure bool
	// Auth says who needs a token: AuthAuto, the default, is everybody as soon as the store has ever had
	// one and nobody before; AuthRequired is everybody from the beginning.
	Auth string
	// TLSCert and TLSKey are files in PEM with the certificate, its chain and its key; with them the control
	// plane speaks TLS alone. They are read again when they have changed.
	TLSCert, TLSKey string
	// TLSMin is the oldest version of TLS that is spoken, "1.3", the default, or "1.2".
	TLSMin string
	// TLSClientCA is a file in PEM with the authorities of clients' certificates. With it every client must show
	// one, or where TLSClientAuth is AuthOptional may; and everybody must be known, by a certificate or a token.
	TLSClientCA, TLSClientAuth string
	// TLSClients are the names of certificates and what each is given, as NAME=ROLE@TENANT: a name is a SPIFFE id,
	// or the subject of a certificate without. What is not listed is given nothing.
	TLSClients []string
	// OIDCIssuer is the URL of an issuer of OpenID Connect whose tokens for OIDCAudience are taken. OIDCGrants are
	// claims and what each is given, as CLAIM=VALUE=ROLE@TENANT; what is not listed is given nothing.
	// OIDCClient is graphd's id at the issuer, OIDCClientSecret a file with its secret, OIDCScopes what is asked for
	// beside openid: browsers log in there, and come back to OIDCRedirect, this daemon's https://host[:port].
	OIDCIssuer, OIDCAudience, OIDCClient, OIDCClientSecret, OIDCRedirect string
	OIDCGrants, OIDCScopes                                               []string
	// Graphs is a directory whose *.yaml files (but *_test.yaml) are applied at start and
	// whenever they change; "" is none.
	Graphs string
	// Declarations are further graphs to apply at start, by a name for messages.
	Declarations map[string][]byte
	// Reload, when it receives, has Graphs read at once; nil is allowed.
	Reload <-chan os.Signal
	// Stdout takes the ready line and the stdout sinks' values; default os.Stdout.
	Stdout io.Writer
	Log    *slog.Logger
	// LogLevel is the level of Log, where PUT /v1/log-level may set it; nil leaves the log to the program.
	LogLevel *slog.LevelVar
	// Pprof has administrators of the platform given profiles of the process at /debug/pprof.
	Pprof bool
	// OTLPEndpoint is the URL of a collector of OpenTelemetry, http or https, that is told of epochs over OTLP/HTTP;
	// "" tells nobody. OTLPHeaders go with each request, as NAME=VALUE or NAME=file:PATH.
	OTLPEndpoint string
	OTLPHeaders  []string
	// TraceRatio is how many epochs of one are told of beside those that fail, are forced, or take TraceSlow; 0 is
	// 0.01, -1 none. TraceSlow is 1s by default.
	TraceRatio float64
	TraceSlow  time.Duration
	// Hosts are the names, without a port, that requests may be addressed to beside addresses, localhost and
	// the name in Listen: a web page can have a name of its own resolve to the daemon's address.
	Hosts []string
	// Origins are the web origins, https://host[:port], whose pages may use the API from a browser.
	Origins []string
	// MCP is what agents may do over /mcp, each with its own role: "off", "read", the default, or "write".
	MCP string
	// Registry is what declarations may name beside what graphd comes with.
	Registry Registry
	// AllowOutbound lists what sources and sinks may call: networks (10.1.0.0/16), addresses, host names,
	// "loopback", "private", "public", or "none" alone. Without it a daemon that listens on loopback alone
	// may call loopback, for who reaches it is on this machine already. The operator's own declarations may
	// call public addresses beside.
	AllowOutbound []string
	// FilesDir is the folder below which declarations that come over the network may read and write
	// files, and where their relative paths begin. Without it they have the folder "files" of Data and,
	// where the daemon listens on loopback alone, the folder that it was started in. Graphs and
	// Declarations are the operator's own, and may name any file.
	FilesDir string
	// SecretsDir is the folder below which their ${file:…} reads; without it there is none.
	SecretsDir string
	// AllowKinds are the kinds of sources, sinks and nodes that they may use, as "source.file"; nil means all.
	AllowKinds []string
	// Connections are databases and Kafka clusters that declarations may name, as NAME=ADDRESS: an address is
	// postgres://USER:PASSWORD@HOST/DATABASE, kafka://HOST:PORT, file:PATH for one that stands in a file, or
	// for the name store the word store: the store's own database. What is named may be called.
	Connections []string
	// Closed are further files that they may not reach, whatever folder these are in, such as the
	// program's own configuration.
	Closed []string
	// Tenants are the settings of tenants other than default, by name, and quotas; "*" has those of tenants without.
	Tenants map[string]Tenant
	// KafkaBrokers are the brokers, host:port, of declarations that name none.
	KafkaBrokers []string
	// MaxOutbound bounds the outbound calls on the way at once; default 256.
	MaxOutbound int
	// MaxBody bounds a request body, a frame and an event, in bytes; default 8 MiB.
	MaxBody int64
	// MaxGraphs bounds the graphs, default 10,000; MaxEpochs how many of them run epochs at
	// one time, default no bound; MaxMailbox the pushed events that wait for an accumulator,
	// default 4,096.
	MaxGraphs, MaxEpochs, MaxMailbox int
	// MaxSockets bounds the WebSocket connections, default 1,024; MaxFrames the frames that
	// are read of one in a second, default no bound; MaxDepth the nesting of JSON, default 64;
	// MaxBodies the bytes of all bodies that are being read, default 256 MiB or less.
	MaxSockets, MaxFrames, MaxDepth int
	MaxBodies                       int64
	// Arrivals bound connections, requests and slow clients.
	Arrivals Arrivals
	// PushTimeout is how long a full queue holds a REST push up, and a journal that cannot be
	// written any push; default 5s.
	PushTimeout time.Duration
	// Lease is how long this daemon stays the owner of its graphs when it cannot reach a store
	// that other daemons share; default 3s.
	Lease time.Duration
	// Advertise is the address, host:port, at which clients and other daemons reach this one; "" says none.
	Advertise string
	// MemberListen is where other daemons on the store forward requests to, MemberSecret a file with what all share.
	MemberListen, MemberSecret string
	// Capacity is this daemon's weight among those that share its store, 1 to 100; default 1. StandBy has it run
	// graphs only while no daemon with a capacity is there.
	Capacity int
	StandBy  bool
	// RebalanceAfter is how long a graph that runs here must have had its place at another daemon before it is
	// handed over; default 30s.
	RebalanceAfter time.Duration
	// ShutdownTimeout bounds the stop; default 30s.
	ShutdownTimeout time.Duration
	// AuditKeep is how long entries of the audit stay; default 365 days.
	AuditKeep time.Duration
	// Version is what the binary calls itself.
	Version Version
}

// ListenNone is the Config.Listen of a daemon that listens nowhere: [Daemon.Handler] serves its API, if anything does.
const ListenNone = "none"

// The choices of Config.Auth.
const (
	AuthAuto     = "auto"
	AuthRequired = "required"
	// AuthOptional is one of TLSClientAuth alone, as AuthRequired is another.
	AuthOptional = "optional"
)

// Arrivals bound what comes in over the network. The zero value of a field means its default.
type Arrivals = arrival.Config

// Version is what GET /version answers.
type Version = api.Version

// Errors of a daemon, for exit codes; test with errors.Is.
var (
	// ErrConfig says that the configuration cannot be used.
	ErrConfig = errors.New("configuration")
	// ErrDependency says that something the daemon needs is not to be had: the store, the port.
	ErrDependency = errors.New("dependency")
	// ErrStop says that not everything stopped in time or cleanly.
	ErrStop = errors.New("stop")
)

// Daemon is one daemon. Make it with New, run it with Run.
type Daemon struct {
	cfg    Config
	log    *slog.Logger
	store  checkpoint.Store
	guard  *outbound.Guard
	kinds  *builtin.Kinds
	quotas *quota.Book
	engine *engine.Engine
	gate   *gate.Gate
	trail  *audit.Trail
	traces *trace.Tracer // nil where nobody is told
	// certificate is nil without TLS.
	certificate *certificate.Keeper
	// issuer is nil where none is believed.
	issuer   *issuer.Issuer
	server   *server.Server
	members  *forward.Members // nil without
	listener net.Listener     // nil with ListenNone
	up       chan struct{}    // closed when it serves
	graphs   folder.Folder    // the graphs directory
}

func (c *Config) setDefaults() {
	c.Data, c.Listen = cmp.Or(c.Data, "graphd-data"), cmp.Or(c.Listen, "127.0.0.1:8080")
	c.MCP = cmp.Or(c.MCP, string(agents.Read))
	c.MaxBody, c.ShutdownTimeout = cmp.Or(c.MaxBody, 8<<20), cmp.Or(c.ShutdownTimeout, 30*time.Second)
	if c.Stdout == nil {
		c.Stdout = os.Stdout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.AllowOutbound == nil && !c.Insecure && c.onLoopback() {
		c.AllowOutbound = []string{"loopback"}
	}
	if c.AuditKeep <= 0 {
		c.AuditKeep = 365 * 24 * time.Hour
	}
}

// New opens the store and takes the address. Nothing runs before Run; on an error nothing is left open.
func New(ctx context.Context, cfg Config) (_ *Daemon, err error) {
	cfg.setDefaults()
	if err := errors.Join(cfg.checkAuth(), cfg.checkListen(), cfg.checkGraphs(), cfg.checkLease()); err != nil {
		return nil, err
	}
	d := &Daemon{cfg: cfg, log: cfg.Log, up: make(chan struct{})}
	if d.certificate, err = cfg.openCertificate(); err != nil {
		return nil, err
	}
	if d.guard, err = outbound.New(outbound.Config{Allow: cfg.AllowOutbound, MaxCalls: cfg.MaxOutbound,
		Log: cfg.Log}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if d.traces, err = cfg.openTraces(); err != nil {
		return nil, err
	}
	fail, err := failpoint.FromEnv(os.LookupEnv)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if d.members, cfg.MemberListen, err = forward.Listen(ctx, cfg.MemberListen, cfg.MemberSecret, cfg.Advertise,
		d.log); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if d.store, err = openStore(ctx, &cfg); err != nil {
		return nil, errors.Join(err, d.members.Close())
	}
	d.store = planted(d.store)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.store.Close(), d.members.Close())
		}
	}()
	d.trail = audit.New(audit.Config{Store: d.store, Log: cfg.Log, Keep: cfg.AuditKeep})
	if d.gate, err = d.openGate(ctx); err != nil {
		return nil, err
	}
	d.quotas = tenancy.Quotas(cfg.Tenants)
	d.kinds = d.newKinds(&cfg)
	if err = cfg.permit(d.kinds, d.quotas); err != nil {
		return nil, err
	}
	d.engine = d.newEngine(&cfg, fail)
	if err := d.members.Join(d.store.Self(), d.engine); err != nil {
		return nil, err
	}
	metrics, err := telemetry.NewRegistry(&metricsSource{d}, telemetry.BuildInfo{
		Version: cfg.Version.Version, Revision: cfg.Version.Commit, GoVersion: cfg.Version.Go,
	})
	if err != nil {
		return nil, fmt.Errorf("set up metrics: %w", err)
	}
	d.server, err = server.New(d.engine, server.Config{
		Log: cfg.Log, LogLevel: cfg.LogLevel, Metrics: telemetry.Handler(metrics, cfg.Log), Version: cfg.Version,
		Origins: cfg.Origins, Agents: agents.Mode(cfg.MCP), Profiles: cfg.Pprof,
		MaxBody: cfg.MaxBody, MaxBodies: cfg.MaxBodies, MaxDepth: cfg.MaxDepth, MaxSockets: cfg.MaxSockets,
		FramesPerSecond: cfg.MaxFrames,
		PushTimeout:     cfg.PushTimeout, Hosts: cfg.hosts(), Gate: d.gate,
		Trail: d.trail, Members: d.members, TLS: d.tls(), Warnings: d.warnings, Quotas: d.quotas,
		Arrivals: cfg.Arrivals,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if d.listener, err = cfg.listen(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Daemon) newKinds(cfg *Config) *builtin.Kinds {
	var tables builtin.Tables
	if shared, ok := d.store.(builtin.Tables); ok {
		tables = shared
	}
	kinds := &builtin.Kinds{Turns: builtin.NewTurns(runtime.GOMAXPROCS(0)), Modules: &builtin.Modules{},
		Stdout: stdout.NewOutput(cfg.Stdout), MaxEventBytes: int(cfg.MaxBody), Store: tables, Traced: d.traces != nil,
		Reach: builtin.Reach{Guard: d.guard, KafkaBrokers: cfg.KafkaBrokers, Folder: cfg.folder()}, Audit: d.store}
	cfg.Registry.register(kinds)
	return kinds
}

func (d *Daemon) newEngine(cfg *Config, fail *failpoint.Set) *engine.Engine {
	return engine.New(engine.Config{
		Store: d.store, Log: cfg.Log, Scratch: dal.Folder(d.store), MaxEventBytes: int(cfg.MaxBody),
		PushTimeout: cfg.PushTimeout, ShutdownTimeout: cfg.ShutdownTimeout, LeaseTTL: cfg.Lease,
		Patience:  cfg.RebalanceAfter,
		MaxGraphs: cfg.MaxGraphs, MaxEpochs: cfg.MaxEpochs, MailboxEvents: cfg.MaxMailbox,
		Kinds: d.kinds, Quotas: d.quotas, Members: d.members.Asks(), Spread: true,
		Outbound: d.guard, Traces: d.traces,
		Fail: fail,
	})
}

// tidyAfter is how long after it is ready a daemon gives back what its start has used: by then graphs without anything
// to do have told that their start was good, and have come to rest.
const tidyAfter = 8 * time.Second

// Run starts the stored graphs and those of the configuration, serves until ctx is done,
// and then stops: no more requests, every graph at its epoch boundary, sinks flushed, final
// checkpoints, the store closed. It is called once.
func (d *Daemon) Run(ctx context.Context) error {
	if d.store.Kind() == "memory" {
		d.log.Warn("the store is memory: everything works, and everything is lost when the daemon stops")
	}
	stopTrail := d.trail.Start()
	stopTraces := d.traces.Start()
	defer stopTraces()
	serving := make(chan error, 1)
	var ended <-chan error // serving, where the server can end by itself
	err := d.start(ctx)
	if err == nil {
		ended = d.serve(ctx, serving)
		err = d.ready()
	} else {
		err = errors.Join(err, d.unlisten(), d.members.Close())
		serving <- nil
	}
	// The watch ends when the stop begins, whatever began it: the end of ctx, or the server's.
	watchCtx, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	watching := make(chan struct{})
	if err == nil {
		go func() { // joined below
			defer close(watching)
			d.watch(watchCtx)
		}()
		// A start leaves about as much garbage as it keeps, and an idle daemon would hold on to
		// it: nothing makes the collector run.
		tidy := time.AfterFunc(tidyAfter, debug.FreeOSMemory)
		select {
		case <-ctx.Done():
		case err = <-ended:
			serving <- nil
		}
		tidy.Stop()
	} else {
		close(watching)
	}
	stopWatching()
	d.log.Info("stopping")
	err = errors.Join(err, d.stop(serving, watching, stopTrail)) // it outlives what asked for it, within its own bound
	d.log.Info("stopped")
	return err
}

// start opens what is stored, then applies the configured declarations.
func (d *Daemon) start(ctx context.Context) error {
	if err := d.engine.Open(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrDependency, err)
	}
	for name, doc := range d.cfg.Declarations {
		if _, err := control.ApplyOwn(ctx, d.engine, d.trail, "Config.Declarations", name, doc,
			api.Change{}); err != nil {
			return fmt.Errorf("%w: apply %s: %w", ErrConfig, name, err)
		}
	}
	d.graphs = d.folderOf()
	d.applyGraphs(ctx)
	return nil
}
