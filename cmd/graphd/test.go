package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

func testCmd(t *terminal.Terminal) *cobra.Command {
	var given func([]string) []string
	var set func() (map[string]string, error)
	cmd := &cobra.Command{
		Use:   "test DIR|FILE…",
		Short: "Run the tests beside declarations, under virtual time",
		Long: `Run test documents (NAME_test.yaml) against the declarations beside them (NAME.yaml),
every case on a fresh graph under virtual time. A folder stands for every test
document below it. A case fails, too, that has dead letters, a failed epoch or late
events of which no step speaks, unless the document says strict: false.`,
		Args:                  terminal.Positional(cobra.ArbitraryArgs),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			args = given(args)
			if len(args) == 0 {
				return terminal.Usage(cmd, errors.New("say what to test: a test document, or a folder of them"))
			}
			paths, err := testDocuments(args)
			if err != nil {
				return err
			}
			vars, err := set()
			if err != nil {
				return err
			}
			return runTests(cmd.Context(), t, paths, vars)
		},
	}
	given, set = terminal.Files(cmd, "test document, or folder of them"), terminal.Vars(cmd)
	return cmd
}

// outcome is what became of one case.
type outcome struct {
	File     string   `json:"file"`
	Case     string   `json:"case"`
	Line     int      `json:"line"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures"`
}

// runTests runs every document. One that cannot be run is said, and the others go on.
func runTests(ctx context.Context, t *terminal.Terminal, paths []string, vars map[string]string) error {
	outcomes := []outcome{}
	var failure error
	failed := 0
	for _, path := range paths {
		cases, err := graphd.TestDeclarationWith(ctx, path, vars)
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return terminal.Exit(terminal.ExitInterrupted, errors.New("interrupted"))
		}
		if err != nil {
			code := t.Report(broken(t, path, err))
			t.Say("%s was not run", path)
			if failure = terminal.Exit(terminal.ExitFormat, terminal.ErrSaid); code == terminal.ExitUsage {
				failure = terminal.Exit(code, terminal.ErrSaid)
			}
			continue
		}
		for _, c := range cases {
			o := outcome{
				File: path, Case: c.Case, Line: c.Line, Passed: len(c.Failures) == 0,
				Failures: append([]string{}, c.Failures...),
			}
			if !o.Passed {
				failed++
			}
			outcomes = append(outcomes, o)
		}
	}
	if err := t.Print(outcomes, func() error { return printOutcomes(t, outcomes) }); err != nil {
		return err
	}
	t.Say("%s, %d failed", terminal.Plural(len(outcomes), "case"), failed)
	if failure == nil && failed > 0 {
		failure = terminal.Exit(terminal.ExitFailed, terminal.ErrSaid)
	}
	return failure
}

func printOutcomes(t *terminal.Terminal, outcomes []outcome) error {
	for _, o := range outcomes {
		word := "ok  "
		if !o.Passed {
			word = "FAIL"
		}
		if err := t.Line("%s  %s:%d  %s", word, o.File, o.Line, o.Case); err != nil {
			return err
		}
		for _, f := range o.Failures {
			if err := t.Line("      %s", f); err != nil {
				return err
			}
		}
	}
	return nil
}

// testDocuments replaces folders by the test documents below them, in the order of their paths.
func testDocuments(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		arg, err := besideDeclaration(arg)
		if err != nil {
			return nil, err
		}
		before := len(paths)
		err = filepath.WalkDir(arg, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && (path == arg || isTestDocument(path)) {
				paths = append(paths, path)
			}
			return err
		})
		if errors.Is(err, os.ErrNotExist) {
			return nil, terminal.Missing(err)
		}
		if err != nil {
			return nil, err
		}
		if len(paths) == before {
			return nil, terminal.Exit(terminal.ExitNotFound, errors.New("no test document (*_test.yaml) is below "+arg))
		}
	}
	return paths, nil
}

// besideDeclaration is the test document of what may be a declaration: who names that means its tests.
func besideDeclaration(path string) (string, error) {
	ext := filepath.Ext(path)
	if isTestDocument(path) || ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return path, nil
	}
	beside := strings.TrimSuffix(path, ext) + "_test.yaml"
	for _, name := range []string{beside, strings.TrimSuffix(beside, "yaml") + "yml"} {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
	}
	var document map[string]any
	text, err := os.ReadFile(path)
	if err != nil || yaml.Unmarshal(text, &document) != nil ||
		document["accumulators"] == nil && document["include"] == nil {
		return path, nil // what reads it says what is wrong with it
	}
	return "", terminal.Exit(terminal.ExitNotFound, fmt.Errorf("%s is a declaration and has no tests beside it: write "+
		"them into %s; graphd validate %s checks the declaration itself", path, beside, path))
}

func isTestDocument(path string) bool {
	return strings.HasSuffix(path, "_test.yaml") || strings.HasSuffix(path, "_test.yml")
}
