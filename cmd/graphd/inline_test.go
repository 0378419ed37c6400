package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// TestInlineCommands holds the commands that the pages name in their sentences: each is there, has the
// flags it is shown with, and takes as many arguments. Those that need neither a daemon nor
// a file are run. (The blocks "console" are run by test/docs.)
func TestInlineCommands(t *testing.T) {
	t.Parallel()
	found, ran := 0, 0
	for _, path := range documentation(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range proseLines(string(data)) {
			for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
				for _, args := range spellings(strings.Fields(m[1])) {
					found++
					if err := parses(args); err != nil {
						t.Errorf("%s:%d: `graphd %s`: %v", path, n+1, m[1], err)
						continue
					}
					if !standsAlone(args) {
						continue
					}
					ran++
					var out, errs bytes.Buffer
					term := terminal.New(strings.NewReader(""), &out, &errs, func(string) string { return "" })
					if code := run(t.Context(), term, args); code != 0 || out.Len() == 0 {
						t.Errorf("%s:%d: `graphd %s` ends with %d: %s", path, n+1, m[1], code, &errs)
					}
				}
			}
		}
	}
	if found < 80 || ran < 4 {
		t.Errorf("only %d commands were found and %d run", found, ran)
	}
}

// inlineCommand is a command in a sentence.
var inlineCommand = regexp.MustCompile("`graphd ([^`]+)`")

// documentation are the pages, without the changelog and the decisions, which tell of what was.
func documentation(t *testing.T) []string {
	t.Helper()
	paths := []string{"../../README.md", "../../AGENTS.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "decisions" {
			return filepath.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// proseLines are the lines of a page, those of its blocks empty.
func proseLines(text string) []string {
	lines := strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		fence := strings.HasPrefix(line, "```")
		if inside || fence {
			lines[i] = ""
		}
		inside = inside != fence
	}
	return lines
}

// spellings are the commands that one stands for: with [ARGUMENT] and without, with each of a|b. An
// ellipsis says that there may be more.
func spellings(words []string) [][]string {
	all := [][]string{nil}
	for _, word := range words {
		word = strings.TrimSuffix(word, "…")
		inner, optional := strings.CutPrefix(word, "[")
		inner = strings.TrimSuffix(inner, "]")
		var longer [][]string
		for _, before := range all {
			if optional || word == "" {
				longer = append(longer, before)
			}
			for one := range strings.SplitSeq(inner, "|") {
				if one != "" {
					longer = append(longer, append(slices.Clone(before), one))
				}
			}
		}
		all = longer
	}
	return all
}

// parses says what the command line has against a command. A verb alone, or a flag alone behind one, is
// a name and no command: what it needs may be missing.
func parses(args []string) error {
	term := terminal.New(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" })
	root := newRoot(term)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(args)
	switch {
	case err != nil:
		return err
	case cmd == root && !strings.HasPrefix(args[0], "-"):
		return fmt.Errorf("there is no command %q", args[0])
	case len(rest) == 0:
		return nil
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	err = cmd.ParseFlags(rest)
	if err != nil && strings.Contains(err.Error(), "needs an argument") {
		err = cmd.ParseFlags(append(rest, "1"))
	}
	if err != nil {
		return err
	}
	if words := cmd.Flags().Args(); len(words) > 0 {
		return cmd.ValidateArgs(words)
	}
	return nil
}

// standsAlone reports whether a command can be run as it stands here, for what it prints.
func standsAlone(args []string) bool {
	switch args[0] {
	case "schema", "version", "--help", "--version":
		return true
	case "completion":
		return len(args) > 1
	case "explain":
		return len(args) > 1 && args[1] != strings.ToUpper(args[1])
	}
	return false
}

// TestInlineParses holds what counts as a command that is there.
func TestInlineParses(t *testing.T) {
	t.Parallel()
	for line, ok := range map[string]bool{
		"pause": true, "pause GRAPH": true, "pause A B C": false, "pause GRAPH --nosuch": false, "puase GRAPH": false,
		"state GRAPH --key AAPL": true, "state --key": true, "state --nosuch": false, "rollback GRAPH [REVISION]": true,
		"rollback GRAPH 1 2": false, "completion bash|zsh": true, "completion dash": false, "--help": true,
		"--nosuch": false, "serve --store postgres://…": true,
	} {
		var err error
		for _, args := range spellings(strings.Fields(line)) {
			err = errors.Join(err, parses(args))
		}
		if (err == nil) != ok {
			t.Errorf("graphd %s: %v", line, err)
		}
	}
}
