// Package doctor is the verb doctor: it looks at what a daemon needs, from where the daemon is to run, and says of each
// thing that is not in order what to do; with --bundle it writes that and what the daemon tells of itself into a file
// for those who help, without anything secret. Begin with Command.
package doctor

import (
	"context"
	"slices"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The verdicts.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
	Skip = "skip" // it could not be looked at, or there is nothing to look at
)

// Finding is what was found of one thing.
type Finding struct {
	What    string `json:"what"`
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
	// Do is what to do, "" where it is in order.
	Do string `json:"do,omitempty"`
}

// Daemon is what is known of the daemon before anything is asked.
type Daemon struct {
	Config graphd.Config
	// Flags are those of graphd serve, filled in; Memory is its limit of the memory, in words.
	Flags  *pflag.FlagSet
	Memory string
	// Limit is the memory that the container has, in bytes, 0 for no limit.
	Limit int64
	// Version is this program's.
	Version string
	// Err is why the configuration cannot be read; what is known is known all the same.
	Err error
}

// Verb makes a command that asks the daemon.
type Verb = func(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command

const long = `Look at what a daemon needs, on its machine, with its flags, environment and --config:
configuration, store (is it reached, its format, how quick, its clock), the databases and
clusters of --connections and --kafka-brokers, open files, memory, versions, how long
certificates last; and ask the daemon itself, where it runs, for its health and members.
Nothing is changed. Each line that is not in order says what to do. The exit code is 1
when something fails; warnings, and a daemon that does not run, are none.

--bundle FILE writes all of it, with metrics, summaries and the latest recovery events, into
a zip file for those who help: without secrets, addresses' passwords, declarations, events,
values and what errors say of them. Look through it before you give it away all the same.`

// Command is the verb; ask makes commands that ask the daemon, flags are those by which load finds its configuration.
func Command(t *terminal.Terminal, ask Verb, flags func(*cobra.Command),
	load func(*cobra.Command) Daemon) *cobra.Command {
	var bundle string
	var cmd *cobra.Command
	cmd = ask("doctor", "Look at what the daemon needs, and say what to do about what is not in order", long,
		cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
			d := load(cmd)
			x := examination{daemon: d, client: c, now: t.Now}
			x.all(ctx)
			if bundle != "" {
				if err := x.bundle(ctx, bundle, t.Getenv); err != nil {
					return err
				}
				t.Say("%s is written: look through it before you give it away", bundle)
			}
			if err := t.Print(x.report(), func() error { return t.Table(table(x.found)) }); err != nil {
				return err
			}
			if slices.ContainsFunc(x.found, func(f Finding) bool { return f.Verdict == Fail }) {
				return terminal.ErrSaid
			}
			return nil
		})
	flags(cmd)
	cmd.Flags().StringVar(&bundle, "bundle", "", "new file to write a support bundle to, a zip without secrets")
	return cmd
}

func table(found []Finding) *terminal.Table {
	table := terminal.NewTable("WHAT", "VERDICT", "DETAIL").Color(1, func(verdict string) terminal.Tone {
		switch verdict {
		case OK:
			return terminal.Good
		case Fail:
			return terminal.Bad
		case Skip:
			return terminal.Dim
		}
		return terminal.Warn
	})
	for _, f := range found {
		detail := f.Detail
		if f.Do != "" {
			detail += ": " + f.Do
		}
		table.Row(f.What, f.Verdict, detail)
	}
	return table
}

// examination is one look at everything.
type examination struct {
	daemon Daemon
	client *client.Client
	now    func() time.Time
	found  []Finding
}

// Report is what -o json prints.
type Report struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

func (x *examination) report() Report {
	return Report{Findings: x.found,
		OK: !slices.ContainsFunc(x.found, func(f Finding) bool { return f.Verdict == Fail })}
}

func (x *examination) add(what, verdict, detail, do string) {
	if verdict == OK {
		do = ""
	}
	x.found = append(x.found, Finding{What: what, Verdict: verdict, Detail: detail, Do: do})
}

// within bounds one look.
const within = 10 * time.Second

func (x *examination) all(ctx context.Context) {
	for _, look := range []func(context.Context){x.configuration, x.store, x.disk, x.reached, x.files, x.memory,
		x.certificates, x.running} {
		ctx, cancel := context.WithTimeout(ctx, within)
		look(ctx)
		cancel()
	}
}
