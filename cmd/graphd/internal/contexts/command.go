package contexts

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// Command is the verb context.
func Command(t *terminal.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "context", Short: "Keep which daemons to speak to, and the tokens that open them",
		Long: `Keep servers, tenants and tokens under names, in a file that its owner alone can
read: graphd/contexts.yaml in the user's configuration folder. The one in use goes
for every verb that speaks to a daemon; --server, --tenant, --token-file and
GRAPHD_SERVER, GRAPHD_TENANT, GRAPHD_TOKEN go before it, and GRAPHD_CONTEXT chooses
another, or none. A context's token is sent to its own server alone.`,
		Args: terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(addCmd(t), useCmd(t), listCmd(t), removeCmd(t))
	return cmd
}

// change is a command that changes the file.
func change(t *terminal.Terminal, use, short string, args cobra.PositionalArgs,
	do func(cmd *cobra.Command, f *File, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: terminal.Positional(args), DisableFlagsInUseLine: true,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			f, err := Read(t.Getenv)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Sorted(maps.Keys(f.Contexts)), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Read(t.Getenv)
			if err == nil {
				err = do(cmd, f, args[0])
			}
			if err == nil {
				err = f.Write()
			}
			return err
		},
	}
}

func addCmd(t *terminal.Terminal) *cobra.Command {
	// --server, --tenant, --token-file and those of TLS are those of every verb: here they are what is kept.
	return change(t, "add NAME --server SERVER", "Keep a daemon under a name, or change what is kept",
		cobra.ExactArgs(1), func(cmd *cobra.Command, f *File, name string) error {
			if name == none {
				return terminal.Exit(terminal.ExitUsage, fmt.Errorf("%q chooses no context, and cannot be one", none))
			}
			c := f.Contexts[name]
			var err error
			if flag := cmd.Flag("server"); flag.Changed || c.Server == "" {
				if c.Server, err = address(flag.Value.String()); err != nil {
					return err
				}
				c.Token, c.Files = "", Files{} // they were for another server
			}
			if flag := cmd.Flag("tenant"); flag.Changed {
				c.Tenant = flag.Value.String()
			}
			if flag := cmd.Flag("token-file"); flag.Changed {
				if c.Token, err = ReadToken(t, flag.Value.String()); err != nil {
					return err
				}
			}
			for name, to := range map[string]*string{"ca": &c.CA, "client-cert": &c.Cert, "client-key": &c.Key} {
				if flag := cmd.Flag(name); flag.Changed {
					if *to, err = filepath.Abs(flag.Value.String()); err != nil {
						return err
					}
				}
			}
			if f.Contexts == nil {
				f.Contexts = map[string]Context{}
			}
			f.Contexts[name] = c
			if f.Current == "" {
				f.Current = name
			}
			t.Say("context %s is %s", name, c.Server)
			return nil
		})
}

func useCmd(t *terminal.Terminal) *cobra.Command {
	return change(t, "use NAME", "Speak to a daemon from now on, or with none to none of those kept",
		cobra.ExactArgs(1), func(_ *cobra.Command, f *File, name string) error {
			if _, ok := f.Contexts[name]; !ok && name != none {
				return unknown(name)
			}
			if f.Current = name; name == none {
				f.Current = ""
			}
			t.Say("context %s is in use", name)
			return nil
		})
}

func removeCmd(t *terminal.Terminal) *cobra.Command {
	return change(t, "remove NAME", "Forget a daemon and its token", cobra.ExactArgs(1),
		func(_ *cobra.Command, f *File, name string) error {
			if _, ok := f.Contexts[name]; !ok {
				return unknown(name)
			}
			delete(f.Contexts, name)
			if f.Current == name {
				f.Current = ""
			}
			t.Say("context %s is forgotten; its token is good until it ends or is revoked", name)
			return nil
		})
}

func unknown(name string) error {
	return terminal.Exit(terminal.ExitNotFound,
		fmt.Errorf("there is no context %q; 'graphd context list' lists those there are", name))
}

// told is a context as it is listed: whether it has a token, and never which.
type told struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Tenant  string `json:"tenant"`
	Token   bool   `json:"token"`
	Current bool   `json:"current"`
}

func listCmd(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List what is kept", Args: terminal.Positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			f, err := Read(t.Getenv)
			if err != nil {
				return err
			}
			list := []told{}
			for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
				c := f.Contexts[name]
				list = append(list, told{name, c.Server, c.Tenant, c.Token != "", name == f.Current})
			}
			return t.Print(map[string]any{"items": list}, func() error {
				table := terminal.NewTable("IN USE", "CONTEXT", "SERVER", "TENANT", "TOKEN")
				for _, c := range list {
					table.Row(mark(c.Current, "*", ""), c.Name, c.Server, terminal.Or(c.Tenant, "-"),
						mark(c.Token, "yes", "no"))
				}
				return t.Table(table)
			})
		},
	}
}

func mark(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}
