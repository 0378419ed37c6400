package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/settings"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/graphd/graphd/internal/trace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func serveCmd(t *terminal.Terminal) *cobra.Command {
	var c graphd.Config
	var log telemetry.LogConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon until it is told to stop. When it is ready, one line of JSON goes to
standard output: {"ready":true,"listen":"127.0.0.1:8080"}.

Every flag can stand in a YAML file named by --config, with _ for -, and in the
environment, as GRAPHD_ and its name in capitals. A flag goes before the
environment, and that before the file. SIGHUP reads the folder of --graphs again.`,
		Args: terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := settings.Gather(cmd.LocalNonPersistentFlags(), t.Getenv)
			if err != nil {
				return err
			}
			c.StandBy = c.Capacity == 0
			if c.TraceRatio == 0 {
				c.TraceRatio = -1 // which is none for the library, where 0 is what it does by default
			}
			memory := cmd.Flag(memoryFlag).Value.String()
			if found := judged(given.Mistakes, given.At, &c, log, memory); slices.ContainsFunc(found, isError) {
				return settings.Refuse(found)
			}
			if err := limitMemory(memory, t.Getenv, cgroupLimit); err != nil {
				return terminal.Exit(terminal.ExitFormat, err)
			}
			c.Closed = append(c.Closed, given.Files...)
			if file := cmd.Flag(settings.ConfigFlag).Value.String(); file != "" {
				c.Closed = append(c.Closed, file)
			}
			defer runtime.KeepAlive(ballast(t.Getenv))
			return serve(cmd.Context(), t, c, log, func(string) {})
		},
	}
	serveFlags(cmd, &c, &log)
	return cmd
}

// memberFlags are those of a daemon beside others on one store.
func memberFlags(f *pflag.FlagSet, c *graphd.Config) {
	f.StringVar(&c.Advertise, "advertise", "", "address, host:port, at which clients and other daemons reach this one")
	f.StringVar(&c.MemberListen, "member-listen", "", "address, host:port, at which other daemons on the store "+
		"forward requests to this one; takes --member-secret")
	f.StringVar(&c.MemberSecret, "member-secret", "", "file with what all daemons on the store share, 32 bytes or more")
	f.IntVar(&c.Capacity, "capacity", 1, "weight among the daemons on a shared store, up to 100; 0 stands by")
	f.DurationVar(&c.RebalanceAfter, "rebalance-after", 0, "how long a graph that runs here must have had its place "+
		"at another daemon before it is handed over (default 30s)")
}

func mcpFlag(f *pflag.FlagSet, c *graphd.Config) {
	f.StringVar(&c.MCP, "mcp", "read", "what agents may do over /mcp beside what their role lets them: off, read, or "+
		"write")
}

func serveFlags(cmd *cobra.Command, c *graphd.Config, log *telemetry.LogConfig) {
	f := cmd.Flags()
	f.String(settings.ConfigFlag, "", "YAML file with any of these settings")
	f.StringVar(&c.Graphs, "graphs", "", "folder of declarations to apply at start and whenever they change")
	f.StringVar(&c.Data, "data", "graphd-data", "folder of the embedded store")
	f.StringVar(&c.Store, "store", "",
		"postgres://USER@HOST/DATABASE, sqlite:PATH, memory:, or file:PATH of its address (default a SQLite file in "+
			"--data)")
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "address of the control plane; port 0 picks one")
	f.BoolVar(&c.Insecure, "insecure", false, "allow addresses other than loopback although there are no tokens")
	f.StringVar(&c.Auth, "auth", graphd.AuthAuto, "who needs a token: auto is everybody as soon as the store has "+
		"ever had one; required is everybody")
	f.StringVar(&c.TLSCert, "tls-cert", "", "file in PEM with the daemon's certificate and its chain; read again "+
		"when it changes")
	f.StringVar(&c.TLSKey, "tls-key", "", "file in PEM with the certificate's key")
	f.StringVar(&c.TLSMin, "tls-min", "1.3", "oldest version of TLS that is spoken: 1.3 or 1.2")
	f.StringVar(&c.TLSClientCA, "tls-client-ca", "", "file in PEM with the authorities of clients' certificates")
	f.StringVar(&c.TLSClientAuth, "tls-client-auth", graphd.AuthRequired, "with --tls-client-ca, whether a client "+
		"must show a certificate: required or optional")
	f.StringArrayVar(&c.TLSClients, "tls-clients", nil, "what a client's certificate is given, as NAME=ROLE@TENANT; "+
		"NAME is its SPIFFE id or its subject; may be repeated")
	f.StringVar(&c.OIDCIssuer, "oidc-issuer", "", "URL of an issuer of OpenID Connect whose tokens are taken")
	f.StringVar(&c.OIDCAudience, "oidc-audience", "", "whom its tokens must be for")
	f.StringArrayVar(&c.OIDCGrants, "oidc-grants", nil, "what a claim of its tokens is given, as "+
		"CLAIM=VALUE=ROLE@TENANT; may be repeated")
	f.StringVar(&c.OIDCClient, "oidc-client", "", "graphd's id at the issuer, by which browsers log in there")
	f.StringVar(&c.OIDCClientSecret, "oidc-client-secret", "", "file with the secret of --oidc-client")
	f.StringVar(&c.OIDCRedirect, "oidc-redirect", "", "graphd's own address, https://host[:port], at which browsers "+
		"come back from the issuer (default https:// and the first of --hosts)")
	f.StringSliceVar(&c.OIDCScopes, "oidc-scopes", nil, "what logins ask the issuer for beside openid")
	f.StringSliceVar(&c.Hosts, "hosts", nil, "names, without a port, that requests may be addressed to beside "+
		"addresses and localhost")
	f.StringSliceVar(&c.Origins, "origins", nil, "web origins, https://host[:port], whose pages may use the "+
		"API")
	mcpFlag(f, c)
	f.StringSliceVar(&c.AllowOutbound, "allow-outbound", nil, "what may be called: networks, addresses, "+
		"host names, loopback, private, public, or none (default loopback while --listen is)")
	f.StringVar(&c.FilesDir, "files-dir", "", "folder whose files declarations from the network may use (default "+
		"'files' in --data and, while --listen is loopback, the working directory)")
	f.StringVar(&c.SecretsDir, "secrets-dir", "", "folder that ${file:…} of declarations from the network reads")
	f.StringSliceVar(&c.AllowKinds, "allow-kinds", nil, "kinds that declarations from the network may use, as "+
		"source.file,sink.kafka (default all)")
	f.StringArrayVar(&c.Connections, "connections", nil, "database or Kafka cluster that declarations may name, as "+
		"NAME=postgres://…, NAME=kafka://…, NAME=file:PATH of its address, or store=store; may be repeated")
	f.Var(settings.Tenants{Into: &c.Tenants}, "tenants", "what a tenant's declarations may reach, and its quotas, as "+
		"TENANT.KEY=VALUE; may be repeated; * is each without its own quota")
	f.StringSliceVar(&c.KafkaBrokers, "kafka-brokers", nil, "brokers, host:port, of declarations that name none")
	f.IntVar(&c.MaxOutbound, "max-outbound", 0, "most outbound calls at once (default 256)")
	f.Int64Var(&c.MaxBody, "max-body", 8<<20, "largest request body, frame and event, in bytes")
	f.Int64Var(&c.MaxBodies, "max-bodies", 0, "most bytes of request bodies being read at once "+
		"(default 256 MiB, or a sixteenth of the memory limit)")
	f.IntVar(&c.MaxDepth, "max-depth", 0, "deepest nesting of JSON, up to 1000 (default 64)")
	f.IntVar(&c.MaxGraphs, "max-graphs", 0, "most graphs (default 10000)")
	f.IntVar(&c.MaxEpochs, "max-epochs", 0, "most graphs that run epochs at one time (default no bound)")
	f.IntVar(&c.MaxMailbox, "max-mailbox", 0, "most pushed events that wait for an accumulator (default 4096)")
	f.IntVar(&c.MaxSockets, "max-websockets", 0, "most WebSocket connections (default 1024)")
	f.IntVar(&c.MaxFrames, "max-frames", 0, "most frames a second read of one WebSocket connection (default no bound)")
	arrivalFlags(f, &c.Arrivals)
	f.String(memoryFlag, "auto", "memory to stay below: bytes, or 512MiB, 2GiB; auto takes GOMEMLIMIT, or nine "+
		"tenths of the container's; none")
	f.DurationVar(&c.PushTimeout, "push-timeout", 0,
		"how long a full queue holds a REST push up, and a journal that cannot be written any push (default 5s)")
	f.DurationVar(&c.Lease, "lease", 0,
		"how long this daemon owns its graphs without a word to a shared store (default 3s)")
	memberFlags(f, c)
	f.DurationVar(&c.ShutdownTimeout, "shutdown-timeout", 0, "how long the stop may take (default 30s)")
	f.DurationVar(&c.AuditKeep, "audit-keep", 0, "how long entries of the audit stay (default 8760h)")
	f.StringVar(&log.Level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&log.Format, "log-format", telemetry.FormatAuto, "text, json, or auto: text on a terminal")
	traceFlags(f, c)
	f.BoolVar(&c.Pprof, "pprof", false, "give platform-admins profiles of the process at /debug/pprof")
}

// traceFlags say whom to tell of epochs, and of which.
func traceFlags(f *pflag.FlagSet, c *graphd.Config) {
	f.StringVar(&c.OTLPEndpoint, "otlp-endpoint", "", "URL of a collector of OpenTelemetry that is told of epochs "+
		"over OTLP/HTTP")
	f.StringArrayVar(&c.OTLPHeaders, "otlp-headers", nil, "header that it is sent, as NAME=VALUE or NAME=file:PATH; "+
		"may be repeated")
	f.Float64Var(&c.TraceRatio, "trace-ratio", trace.DefaultRatio, "how many epochs of one it is told of, 0 to 1, "+
		"beside those that fail, are forced or slow")
	f.DurationVar(&c.TraceSlow, "trace-slow", trace.DefaultSlow, "how long an epoch takes that is slow")
}

// arrivalFlags are those that bound what comes in.
func arrivalFlags(f *pflag.FlagSet, a *graphd.Arrivals) {
	f.IntVar(&a.MaxConnections, "max-connections", 0, "most connections (default 4096)")
	f.IntVar(&a.MaxConnectionsEach, "max-connections-per-address", 0,
		"most connections of one address (default 1024)")
	f.IntVar(&a.MaxRequests, "max-requests", 0, "most requests a second of one address, and of one token "+
		"(default 10000)")
	f.IntVar(&a.MaxTokenFrames, "max-token-frames", 0, "most frames a second of the WebSocket connections of one "+
		"token (default 200000)")
	f.Int64Var(&a.MaxPushBytes, "max-push-bytes", 0, "most bytes a second pushed with one token (default 256 MiB)")
	f.IntVar(&a.MaxTokenFailures, "max-token-failures", 0, "how often in a minute an address may show what is no "+
		"token (default 60)")
	f.StringSliceVar(&a.TrustedProxies, "trusted-proxies", nil, "networks and addresses of proxies whose "+
		"X-Forwarded-For is believed")
	f.DurationVar(&a.HeaderTimeout, "header-timeout", 0, "how long a client may take for a handshake of TLS, and for "+
		"a request's line and headers (default 5s)")
	f.DurationVar(&a.RequestTimeout, "request-timeout", 0, "how long a client may take to send a request (default 2m)")
	f.DurationVar(&a.IdleTimeout, "idle-timeout", 0, "how long a connection may rest between requests (default 2m)")
	f.DurationVar(&a.WriteTimeout, "write-timeout", 0, "how long a client may take nothing of an answer (default 30s)")
}

// serve runs a daemon until ctx ends. opened is told the address once it is taken.
func serve(ctx context.Context, t *terminal.Terminal, c graphd.Config, log telemetry.LogConfig,
	opened func(addr string)) error {
	c.LogLevel = new(slog.LevelVar)
	log.Var = c.LogLevel
	log.NoColor = t.NoColor || t.Getenv("NO_COLOR") != ""
	logger, err := telemetry.NewLogger(t.Err, log)
	if err != nil {
		return terminal.Exit(terminal.ExitUsage, err)
	}
	v := buildVersion()
	c.Log, c.Stdout = logger, t.Out
	c.Version = graphd.Version{Version: v.Version, Commit: v.Commit, Date: v.Date, Go: v.Go}
	// Room for one: a second SIGHUP before the first was heard asks for the same.
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	c.Reload = reload

	d, err := graphd.New(ctx, c)
	if err != nil {
		return local(err)
	}
	opened(d.Addr())
	defer spare(ctx, d.Ready(), t.Getenv)()
	return local(d.Run(ctx))
}

// local gives an error of the library its exit code.
func local(err error) error {
	diagnostics := graphd.Diagnostics(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &diagnostics), errors.Is(err, graphd.ErrConfig):
		return terminal.Exit(terminal.ExitFormat, err)
	case errors.Is(err, graphd.ErrConflict):
		return terminal.Exit(terminal.ExitConflict, err)
	case errors.Is(err, graphd.ErrDependency):
		return terminal.Exit(terminal.ExitDependency, err)
	case errors.Is(err, os.ErrNotExist):
		return terminal.Missing(err)
	case errors.Is(err, graphd.ErrStop), errors.Is(err, context.DeadlineExceeded):
		return terminal.Exit(terminal.ExitDeadline, fmt.Errorf("not everything stopped in time: %w", err))
	}
	return err
}
