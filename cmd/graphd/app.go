package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/audits"
	"github.com/graphd/graphd/cmd/graphd/internal/contexts"
	"github.com/graphd/graphd/cmd/graphd/internal/members"
	"github.com/graphd/graphd/cmd/graphd/internal/process"
	"github.com/graphd/graphd/cmd/graphd/internal/remote"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/cmd/graphd/internal/tokens"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of verbs in the help.
const (
	groupGraphs  = "graphs"
	groupInspect = "inspect"
	groupSteer   = "steer"
	groupDaemon  = "daemon"
	groupLocal   = "local"
)

// newRoot builds the whole tree of commands.
func newRoot(t *terminal.Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "graphd",
		Short: "Watch live data and fire computation graphs on it",
		Long: `graphd watches live data, keeps the newest state of every input, and fires a
computation graph the moment the inputs call for it.

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict, 5 denied,
69 the daemon or something it needs is not available, 75 deadline,
78 a declaration, configuration or data is not in the form it must have.`,
		SilenceErrors: true, // report says it once
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // so that RunE can name the nearest verb
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.Version = buildVersion().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd == root && len(words) > 0 {
			return unknownVerb(root, words[0]) // its flags are of no verb: the verb is the mistake
		}
		return terminal.Usage(cmd, nearestFlag(cmd, err))
	})
	flags := root.PersistentFlags()
	flags.StringVarP(&t.Format, "output", "o", terminal.FormatTable, "how to print data: table, wide, json or yaml")
	flags.BoolVar(&t.NoColor, "no-color", false, "print without colour; also NO_COLOR")
	// It fails for a flag that is not there only.
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{terminal.FormatTable,
		terminal.FormatWide, terminal.FormatJSON, terminal.FormatYAML}, cobra.ShellCompDirectiveNoFileComp))
	root.AddGroup(
		&cobra.Group{ID: groupLocal, Title: "On this machine:"},
		&cobra.Group{ID: groupGraphs, Title: "Graphs:"},
		&cobra.Group{ID: groupInspect, Title: "Look inside:"},
		&cobra.Group{ID: groupSteer, Title: "Steer:"},
		&cobra.Group{ID: groupDaemon, Title: "Daemon:"},
	)
	verbs := remote.New(t, flags)
	addGroup(root, groupLocal, []*cobra.Command{serveCmd(t), demoCmd(t), runCmd(t), testCmd(t), validateCmd(t),
		lintCmd(t), planCmd(t), diffCmd(t, verbs), explainCmd(t), schemaCmd(t), lspCmd(t), migrateCmd(t),
		versionCmd(t)})
	addGroup(root, groupGraphs, verbs.Graphs())
	addGroup(root, groupInspect, verbs.Inspect())
	steer := verbs.Steer()
	for _, cmd := range steer {
		if cmd.Name() == "drain" {
			members.WithDrain(t, verbs.Verb, cmd)
		}
	}
	addGroup(root, groupSteer, steer)
	addGroup(root, groupDaemon, append(verbs.Daemon(), members.Command(t, verbs.Verb), configCmd(t),
		doctorCmd(t, verbs),
		audits.Command(t, verbs.OpenVerb), process.LogLevel(t, verbs.Verb),
		process.Profile(t, verbs.OpenVerb),
		tokens.Command(t, verbs.Verb, bootstrapCmd(t)), contexts.Command(t)))
	return root
}

func addGroup(root *cobra.Command, id string, cmds []*cobra.Command) {
	for _, c := range cmds {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// nearestFlag adds to the error about a flag that is not there which one is most like it, and says of a value what is
// taken in its place.
func nearestFlag(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want := wanted(bad.GetFlag().Value.Type()); want != "" {
			return fmt.Errorf("--%s takes %s, not %q", bad.GetFlag().Name, want, bad.GetValue())
		}
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	name, _, _ = strings.Cut(name, "=")
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := terminal.Nearest(name, names); near != "" {
		err = fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}

// wanted is a type of flags in words, "" where the error has them.
func wanted(flags string) string {
	switch flags {
	case "int", "int64":
		return "a whole number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 250ms or 10s"
	}
	return ""
}

// groupError is how cobra tells of flags that exclude each other.
var groupError = regexp.MustCompile(`^if any flags in the group \[[^]]*\] are set none of the others can be; ` +
	`\[([^]]*)\] were all set$`)

// flagGroup says in plain words that flags exclude each other; any other error stays.
func flagGroup(err error) error {
	if err == nil {
		return nil
	}
	m := groupError.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	names := strings.Fields(m[1])
	for i := range names {
		names[i] = "--" + names[i]
	}
	last := len(names) - 1
	return terminal.Exit(terminal.ExitUsage, fmt.Errorf("%s and %s exclude each other; give one of them",
		strings.Join(names[:last], ", "), names[last]))
}

// verbOf is the verb for what other programs call something else, "" when nobody knows.
func verbOf(word string) string {
	switch word {
	case "ls", "list", "ps", "status", "graphs":
		return "get"
	case "top", "watch":
		return "get --watch"
	case "show", "inspect", "info", "stats", "metrics":
		return "describe"
	case "dlq", "letters", "deadletters", "dead-letter", "errors":
		return "dead-letters"
	case "log", "logs", "follow", "subscribe":
		return "tail"
	case "create", "add", "deploy", "update", "replace", "edit":
		return "apply"
	case "rm", "remove", "del", "destroy", "undeploy":
		return "delete"
	case "export", "dump":
		return "get GRAPH -o yaml"
	case "check":
		return "validate"
	case "daemon", "server", "up":
		return "serve"
	case "send", "publish", "emit", "produce":
		return "push"
	case "simulate", "exec", "dry-run":
		return "run"
	case "revisions":
		return "history"
	case "unpause", "continue":
		return "resume"
	case "trigger":
		return "fire"
	case "docs", "man":
		return "explain"
	}
	return ""
}

// unknownVerb names the nearest verbs.
func unknownVerb(root *cobra.Command, verb string) error {
	err := fmt.Errorf("there is no command %q", verb)
	if meant := verbOf(strings.ToLower(verb)); meant != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, meant)
	} else if near := root.SuggestionsFor(verb); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return terminal.Usage(root, err)
}
