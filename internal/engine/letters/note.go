package letters

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/spec/trait"
)

// shownNames bounds how many names a note lists.
const shownNames = 10

// filter is a part of a choice that takes one of the names that letters have.
type filter struct {
	what, asked string
	alone       checkpoint.LetterQuery // no other filter
	of          func(l *checkpoint.DeadLetter) string
}

func (c *choice) filters() []filter {
	q := c.query
	return []filter{
		{"with the code", q.Code, checkpoint.LetterQuery{Code: q.Code},
			func(l *checkpoint.DeadLetter) string { return l.Code }},
		{"of the stage", q.Stage, checkpoint.LetterQuery{Stage: q.Stage},
			func(l *checkpoint.DeadLetter) string { return l.Stage }},
		{"of the accumulator", q.Accumulator, checkpoint.LetterQuery{Accumulator: q.Accumulator},
			func(l *checkpoint.DeadLetter) string { return l.Accumulator }},
		{"of the output", q.Output, checkpoint.LetterQuery{Output: q.Output},
			func(l *checkpoint.DeadLetter) string { return l.Output }},
	}
}

// missed says what there is in place of what a choice names, where it has chosen none since a name of it is that
// of no letter; "" otherwise.
func (d *Desk) missed(ctx context.Context, c *choice) (string, error) {
	for _, f := range c.filters() {
		if f.asked == "" {
			continue
		}
		f.alone.Limit = 1
		some, _, err := d.pile().page(ctx, f.alone)
		if err != nil {
			return "", fmt.Errorf("read the store: %w", err)
		}
		if len(some) > 0 {
			continue
		}
		names, err := d.lettersAre(ctx, f.of)
		switch {
		case err != nil:
			return "", err
		case len(names) == 0:
			return fmt.Sprintf("there is no dead letter %s %q", f.what, f.asked), nil
		}
		return fmt.Sprintf("there is no dead letter %s %q; there are some %s %s", f.what, f.asked, f.what,
			listed(names)), nil
	}
	return "", nil
}

// lettersAre are the names of one sort that the newest letters have, most frequent first.
func (d *Desk) lettersAre(ctx context.Context, of func(l *checkpoint.DeadLetter) string) (names []string, err error) {
	count := map[string]int{}
	q := checkpoint.LetterQuery{}
	for looked := 0; looked < lookedAt; {
		q.Limit = lettersAtOnce
		items, next, err := d.pile().page(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read the store: %w", err)
		}
		for i := range items {
			if name := of(&items[i]); name != "" {
				if count[name]++; count[name] == 1 {
					names = append(names, name)
				}
			}
		}
		if looked, q.Before = looked+len(items), next; next == "" {
			break
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	return names, nil
}

// listed is a list for people, not too long a one.
func listed(names []string) string {
	if len(names) > shownNames {
		return strings.Join(names[:shownNames], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// unseen says what a preview of letters cannot look at: what folds hold by now, and what comes behind the nodes
// that feed stages.
func unseen(m *graphrun.Graph, inputs map[string]bool) string {
	var folds, stages []string
	all := m.Unit().Spec.Accumulators
	for i := range all {
		a := &all[i]
		switch f := a.Folding(); {
		case inputs[a.Name] && (f.Grouped || f.Hands == trait.NewEvents || f.Hands == trait.NewestEvents):
			folds = append(folds, a.Name+" ("+a.Kind+")")
		case a.From != "" && !inputs[a.Name] && m.Unit().Behind(a.Name, inputs):
			stages = append(stages, a.Name)
		}
	}
	var notes []string
	if len(folds) > 0 {
		notes = append(notes, "each letter was tried on an empty "+listed(folds)+", and not on what it holds")
	}
	if len(stages) > 0 {
		notes = append(notes, "it ends where a stage begins: "+listed(stages)+" took nothing of it")
	}
	if len(notes) == 0 {
		return ""
	}
	return "the preview: " + strings.Join(notes, "; ")
}
