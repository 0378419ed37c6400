// Package remote is the verbs of the command line that speak to a running daemon:
// apply, get, push, fire, firings and the like. A file holds one group of them.
//
// [New] makes them. The error of a verb is a [terminal.ExitError] with words for the
// person who gave it.
//
// A tail on a terminal starts one goroutine, which receives, and joins it when it ends; the
// package starts no other.
package remote

import (
	"context"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/contexts"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/cmd/graphd/internal/whys"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	defaultServer = "http://127.0.0.1:8080"
	// defaultTimeout is how long one answer may take: longer than a full queue holds a
	// push up, than a checkpoint and than a graph's own epoch timeout.
	defaultTimeout = 60 * time.Second
)

// Verbs is what the client verbs share: the terminal, and which daemon to speak to.
type Verbs struct {
	*terminal.Terminal

	flags     *pflag.FlagSet
	server    string
	tenant    string
	tokenFile string
	files     contexts.Files
	timeout   time.Duration
}

// New makes the verbs and adds the flags they share to flags.
func New(t *terminal.Terminal, flags *pflag.FlagSet) *Verbs {
	v := &Verbs{Terminal: t, flags: flags}
	flags.StringVar(&v.server, "server", terminal.Or(t.Getenv("GRAPHD_SERVER"), defaultServer),
		"address of the daemon; also GRAPHD_SERVER")
	flags.StringVar(&v.tenant, "tenant", t.Getenv("GRAPHD_TENANT"), "tenant to act for; also GRAPHD_TENANT")
	flags.StringVar(&v.tokenFile, "token-file", "", "file with the token that opens the daemon, - for standard input; "+
		"also GRAPHD_TOKEN, the token itself")
	flags.StringVar(&v.files.CA, "ca", t.Getenv("GRAPHD_CA"), "file in PEM with the authorities of the daemon's "+
		"certificate (default the system's); also GRAPHD_CA")
	flags.StringVar(&v.files.Cert, "client-cert", t.Getenv("GRAPHD_CLIENT_CERT"), "file in PEM with a certificate to "+
		"show to the daemon; also GRAPHD_CLIENT_CERT")
	flags.StringVar(&v.files.Key, "client-key", t.Getenv("GRAPHD_CLIENT_KEY"), "file in PEM with its key; also "+
		"GRAPHD_CLIENT_KEY")
	flags.DurationVar(&v.timeout, "timeout", defaultTimeout, "how long to wait for an answer; 0 is for ever")
	return v
}

// Graphs are the verbs for graphs as a whole.
func (a *Verbs) Graphs() []*cobra.Command {
	return []*cobra.Command{
		a.applyCmd(), a.getCmd(), a.describeCmd(), a.historyCmd(), a.rollbackCmd(), a.deleteCmd(), a.pushCmd(),
	}
}

// Inspect are the verbs that look inside a graph.
func (a *Verbs) Inspect() []*cobra.Command {
	return append([]*cobra.Command{a.stateCmd(), a.firingsCmd(), a.tailCmd(), a.deadLettersCmd(),
		a.recoveryEventsCmd()}, whys.Commands(a.Terminal, a.GraphVerb)...)
}

// Steer are the verbs that steer a graph.
func (a *Verbs) Steer() []*cobra.Command {
	return []*cobra.Command{
		a.fireCmd(), a.pauseCmd(), a.resumeCmd(), a.stepCmd(),
		a.checkpointCmd(), a.drainCmd(), a.restartCmd(), a.partCmd(stopPart), a.partCmd(startPart),
		a.skipLostCmd(), a.resetCmd(), a.rewindCmd(), a.backupCmd(),
	}
}

// Daemon are the verbs about the daemon itself.
func (a *Verbs) Daemon() []*cobra.Command {
	return []*cobra.Command{a.healthCmd(), a.treeCmd(), a.limitsCmd()}
}

// dial makes a client of the daemon that flags, environment and context name. Nothing is sent yet.
func (a *Verbs) dial() (*client.Client, error) {
	given := contexts.Given{Server: a.Getenv("GRAPHD_SERVER"), Tenant: a.tenant, TokenFile: a.tokenFile, Files: a.files}
	if a.flags.Lookup("server").Changed {
		given.Server = a.server
	}
	d, err := contexts.Daemon(a.Terminal, given, defaultServer)
	if err != nil {
		return nil, err
	}
	a.server = d.Server
	c := client.Config{BaseURL: d.Server, Tenant: d.Tenant, Token: d.Token, Agent: contexts.Agent(a.Getenv)}
	if d.Files != (contexts.Files{}) {
		if c.TLS, err = client.TLS(d.CA, d.Cert, d.Key); err != nil {
			return nil, terminal.Exit(terminal.ExitFormat, err)
		}
	}
	return client.New(c)
}

// deadline is ctx with --timeout.
func (a *Verbs) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.timeout)
}
