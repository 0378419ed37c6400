package main

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/settings"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

// maxConfig bounds a file of settings.
const maxConfig = 1 << 20

func configCmd(t *terminal.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a daemon's configuration, and list what can stand in it",
		Args:  terminal.Positional(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configValidateCmd(t), configSettingsCmd(t))
	return cmd
}

func configValidateCmd(t *terminal.Terminal) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "List every mistake in the file of graphd serve --config",
		Long: `List every mistake in the file of graphd serve --config, with its line, and what is
hardly meant, as warnings. Nothing is opened and nobody called; a file or folder
that is not on this machine is a warning, for it may be on that of the daemon.

With a mistake the exit code is 78. With --strict a warning is one, too.`,
		Args: terminal.Positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			text, err := t.ReadFile(args[0], maxConfig)
			if err != nil {
				return err
			}
			return tellConfig(t, args[0], checkConfig(args[0], text), strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "take warnings for mistakes")
	return cmd
}

// checkConfig finds what is wrong with a file of settings, by its lines.
func checkConfig(path string, text []byte) []settings.Mistake {
	var c graphd.Config
	var log telemetry.LogConfig
	serve := &cobra.Command{}
	serveFlags(serve, &c, &log)
	f := settings.Read(path, text, serve.Flags())
	f.Set(serve.Flags())
	found := judged(f.Mistakes, f.At, &c, log, serve.Flag(memoryFlag).Value.String())
	if !slices.ContainsFunc(f.Mistakes, isError) {
		found = append(found, f.Remarks(&c)...)
	}
	slices.SortStableFunc(found, func(a, b settings.Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return found
}

func isError(m settings.Mistake) bool { return m.Severity == settings.Error }

// judged adds to the mistakes of form what is wrong with what the settings mean; at has the place of a flag. A file
// that is not there is a warning.
func judged(found []settings.Mistake, at func(flag, part, severity, code, detail string) settings.Mistake,
	c *graphd.Config, log telemetry.LogConfig, memory string) []settings.Mistake {
	// A value that could not be set has left its default behind, which is no mistake.
	type place struct{ setting, part string }
	bad := map[place]bool{}
	for _, m := range found {
		bad[place{m.Setting, m.Part}] = true
	}
	addPart := func(flag, part, severity, code, detail string) {
		if !bad[place{settings.Key(flag), part}] {
			found = append(found, at(flag, part, severity, code, detail))
		}
	}
	add := func(flag, severity, code, detail string) { addPart(flag, "", severity, code, detail) }
	for _, e := range c.Check() {
		severity, code := settings.Error, settings.CodeInvalid
		text := strings.TrimPrefix(e.Err.Error(), graphd.ErrConfig.Error()+": ")
		if key := settings.Key(e.Setting); !strings.HasPrefix(text, key) {
			text = key + ": " + text
		}
		if errors.Is(e.Err, fs.ErrNotExist) {
			severity, code, text = settings.Warning, settings.CodeElsewhere, "not on this machine: "+text
		}
		addPart(e.Setting, e.Part, severity, code, text)
	}
	wrong := func(flag string, err error) {
		if err != nil {
			add(flag, settings.Error, settings.CodeInvalid, err.Error())
		}
	}
	wrong("log-level", telemetry.LogConfig{Level: log.Level}.Validate())
	wrong("log-format", telemetry.LogConfig{Format: log.Format}.Validate())
	if memory != "auto" && memory != "none" {
		_, err := parseBytes(memory)
		wrong(memoryFlag, err)
	}
	return found
}

// tellConfig prints what was found, and answers with how to exit.
func tellConfig(t *terminal.Terminal, path string, found []settings.Mistake, strict bool) error {
	errs := 0
	for _, m := range found {
		if m.Severity == settings.Error || strict {
			errs++
		}
	}
	if found == nil {
		found = []settings.Mistake{}
	}
	if err := t.Print(found, func() error {
		for _, m := range found {
			if err := t.Line("%s", m.String()); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if errs > 0 {
		return terminal.Exit(terminal.ExitFormat, terminal.ErrSaid)
	}
	t.Say("%s: graphd serve can read it", path)
	return nil
}

func configSettingsCmd(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "settings",
		Short: "List what can stand in the file, with defaults and names in the environment",
		Args:  terminal.Positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			list := serveSettings()
			return t.Print(list, func() error {
				table := terminal.NewTable("KEY", "IS", "DEFAULT", "MEANING")
				for _, s := range list {
					table.Row(s.Key, s.Type, s.Default, t.Clip(s.Meaning, 100))
				}
				return t.Table(table)
			})
		},
	}
}

// serveSettings are those of graphd serve.
func serveSettings() []settings.Setting {
	serve := &cobra.Command{}
	serveFlags(serve, &graphd.Config{}, &telemetry.LogConfig{})
	return settings.List(serve.Flags())
}
