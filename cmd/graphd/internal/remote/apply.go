package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/describe"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/includes"
	"github.com/graphd/graphd/internal/spec/assembly"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// maxDocument bounds a declaration that is read; the daemon's own limit is the same.
const maxDocument = 8 << 20

func (a *Verbs) applyCmd() *cobra.Command {
	var given func([]string) []string
	var set func() (map[string]string, error)
	var how applying
	cmd := a.client(verb{
		use: "apply FILE…", short: "Make or change graphs from their declarations",
		long: `Make or change graphs from their declarations, YAML or JSON, named as arguments or
with -f. A folder stands for every *.yaml, *.yml and *.json in it but *_test.yaml;
"-" is standard input. All files are tried, whatever becomes of the first.`,
		check: cobra.ArbitraryArgs, words: names.Files,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			paths, err := terminal.Declarations(given(args), false)
			if err != nil {
				return err
			}
			if how.revision != 0 && len(paths) != 1 {
				return terminal.Exit(terminal.ExitUsage, errors.New("--revision goes with one file"))
			}
			if how.vars, err = set(); err != nil {
				return err
			}
			return a.apply(ctx, c, paths, &how)
		},
	})
	given, set = terminal.Files(cmd, "declaration, folder of declarations, or - for standard input"), terminal.Vars(cmd)
	cmd.Flags().BoolVar(&how.dryRun, "dry-run", false, "check, and show what would change, but change nothing")
	cmd.Flags().Int64Var(&how.revision, "revision", 0, "apply only if the graph is at this revision")
	return cmd
}

// applying is how declarations are applied.
type applying struct {
	vars     map[string]string
	revision int64 // that the graph must be at; 0 for any
	dryRun   bool
}

// apply sends every file and reports on all of them. The first failure gives the exit code.
func (a *Verbs) apply(ctx context.Context, c *client.Client, paths []string, how *applying) error {
	var failure error
	var done []api.ApplyResult
	t := applyTable()
	for _, path := range paths {
		name, r, err := a.applyFile(ctx, c, path, how)
		if err != nil {
			if len(paths) == 1 {
				return err
			}
			code := a.Report(a.explain(ctx, err))
			a.Say("graphd: %s was not applied", path)
			if failure == nil {
				failure = terminal.Exit(code, terminal.ErrSaid)
			}
			continue
		}
		a.told(t, name, &r)
		if failure == nil {
			failure = troubled(name, &r)
		}
		done = append(done, r)
	}
	var data any = done
	if len(paths) == 1 && len(done) == 1 {
		data = done[0]
	}
	if len(done) > 0 {
		if err := a.Print(data, func() error { return a.Table(t) }); err != nil {
			return err
		}
	}
	return failure
}

func applyTable() *terminal.Table {
	return terminal.NewTable("GRAPH", "REVISION", "RESULT", "HEALTH").Numbers(1).Color(3, terminal.HealthTone)
}

// told puts a result into the table, and says what it changes.
func (a *Verbs) told(t *terminal.Table, name string, r *api.ApplyResult) {
	health := "-"
	if r.Graph != nil {
		health = describe.Health(r.Graph)
	}
	t.Row(name, terminal.Number(r.Revision), applied(r), health)
	for _, line := range r.Diff {
		a.Say("%s: %s", name, line)
	}
	if r.Changed && r.State != nil {
		for _, line := range r.State.Dropped {
			a.Say("%s: drops the state of %s", name, line)
		}
	}
	for _, f := range r.Files {
		a.Say("%s: %s: %s is %s", name, f.Of, f.Path, f.File)
	}
	for _, trouble := range r.Troubles {
		a.Say("%s: %s", name, trouble)
	}
	for _, note := range r.Notes {
		a.Say("%s: %s", name, note)
	}
}

// troubled is the failure of a graph that was applied and does not run, or not all of it.
func troubled(name string, r *api.ApplyResult) error {
	if len(r.Troubles) == 0 {
		return nil
	}
	return terminal.Exit(terminal.ExitDependency, fmt.Errorf("graph %s was applied, and does not run as it should: "+
		"see above; 'graphd describe %s' tells how it goes on", name, name))
}

// applyFile applies one document under the name it gives itself, with what it includes and with vars set: the daemon
// is sent a text that needs nothing beside it.
func (a *Verbs) applyFile(ctx context.Context, c *client.Client, path string, how *applying) (
	string, api.ApplyResult, error) {
	var none api.ApplyResult
	text, err := a.ReadFile(path, maxDocument)
	if err != nil {
		return "", none, err
	}
	doc, err := includes.Whole(text, assembly.Options{File: path, Set: how.vars})
	if found, ok := errors.AsType[graphd.Diagnostics](err); ok {
		return "", none, invalid(found)
	}
	if err != nil {
		return "", none, terminal.CannotSet(path, err)
	}
	name, err := graphName(doc)
	if err != nil {
		return "", none, err
	}
	r, err := c.Apply(ctx, name, doc.Text, how.revision, how.dryRun)
	if p, ok := errors.AsType[*api.Problem](err); ok {
		p.Errors = doc.Place(p.Errors)
		for i := range p.Errors { // the daemon does not know the file's name
			if p.Errors[i].File == "" || p.Errors[i].File == "-" {
				p.Errors[i].File = path
			}
		}
	}
	return name, r, err
}

// applied is the result in a word.
func applied(r *api.ApplyResult) string {
	word := "unchanged"
	switch {
	case r.Created:
		word = "created"
	case r.Changed:
		word = "changed"
	case r.Restated:
		word = "text only"
	}
	if r.DryRun {
		return word + " (dry run)"
	}
	return word
}

// graphName reads the one field that says where a document goes; the daemon checks the rest. A document that does
// not say it has mistakes, which are told as those that the daemon finds.
func graphName(doc *assembly.Document) (string, error) {
	var root struct{ Graph string }
	if err := yaml.Unmarshal(doc.Text, &root); err == nil && root.Graph != "" {
		return root.Graph, nil
	}
	_, err := graphd.ParseDeclaration(doc.Text, doc.Name)
	found, _ := errors.AsType[graphd.Diagnostics](err)
	return "", invalid(doc.Place(slices.DeleteFunc(found, func(d api.Diagnostic) bool {
		return d.Code == "unset_variable" || d.Code == "reference_failed" // the environment is the daemon's
	})))
}

// invalid is the refusal of a declaration with mistakes, as a daemon has it.
func invalid(found graphd.Diagnostics) error {
	return &api.Problem{Status: http.StatusUnprocessableEntity, Code: "declaration_invalid", Errors: found,
		Detail: "the declaration has " + api.Mistakes(len(found)) + "; nothing was changed"}
}

// inputName is a path for people.
func inputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}
