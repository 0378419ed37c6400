package audits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/audit"
	"github.com/spf13/cobra"
)

// checked is a chain that was followed.
type checked struct {
	Tenant  string `json:"tenant"`
	Entries int64  `json:"entries"`
	// From is the first entry, and Head the last.
	From int64       `json:"from"`
	Head audit.Place `json:"head"`
}

func (a *verbs) verify() *cobra.Command {
	var heads []string
	var chain string
	var part bool
	cmd := a.ask("verify [FILE]", "Verify that the audit is as it was written",
		`Follow the chains of the audit, or those in a FILE of graphd audit list -o json,
and compute each entry's sum: an entry that was changed, removed, put in or moved
is named, and the command fails. Give the heads that were kept elsewhere, as graphd
audit heads shows them: only these tell a chain that was cut off at its end, or
written anew as a whole. A chain that does not begin with its first entry has to have
one which tells that those before became too old, or be a --part.`, cobra.MaximumNArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			if part && len(args) == 0 {
				return terminal.Exit(terminal.ExitUsage, errors.New("--part is about a FILE: name one"))
			}
			v := &verifier{chain: chain, part: part, follows: map[string]*checked{},
				chains: map[string]*audit.Verifier{}}
			for _, text := range heads {
				place, err := parsePlace(text)
				if err != nil {
					return terminal.Exit(terminal.ExitUsage, fmt.Errorf("--head %s: %w", text, err))
				}
				v.known = append(v.known, place)
			}
			err := v.run(ctx, c, args)
			if errors.Is(err, audit.ErrBroken) {
				return terminal.Exit(terminal.ExitFailed, err)
			}
			if err != nil {
				return err
			}
			return a.Print(v.list, func() error {
				t := terminal.NewTable("TENANT", "ENTRIES", "FROM", "HEAD").Numbers(1, 2)
				for _, k := range v.list {
					t.Row(k.Tenant, terminal.Number(k.Entries), strconv.FormatInt(k.From, 10), placeText(k.Head))
				}
				return a.Table(t)
			})
		})
	cmd.Flags().StringArrayVar(&heads, "head", nil, "NUMBER:SUM that one of the chains must have; may be repeated")
	cmd.Flags().StringVar(&chain, "chain", "", "only the chain of this tenant, * for what is of none")
	cmd.Flags().BoolVar(&part, "part", false, "FILE is a part of the chains, as of --since 24h, and may begin anywhere")
	return cmd
}

// verifier follows chains.
type verifier struct {
	chain   string // only this one; "" for all
	part    bool
	known   []audit.Place
	chains  map[string]*audit.Verifier
	follows map[string]*checked
	list    []*checked
}

func (v *verifier) run(ctx context.Context, c *client.Client, args []string) error {
	if len(args) == 1 {
		f, err := os.Open(args[0])
		if err != nil {
			return terminal.Missing(err)
		}
		defer f.Close()
		err = client.AuditLines(f, func(r *audit.Row) error {
			e, err := r.Entry()
			if err != nil || v.chain != "" && e.Tenant != v.chain {
				return err
			}
			if v.chains[e.Tenant] == nil {
				v.chains[e.Tenant] = audit.VerifyOpen(e.Tenant)
			}
			return v.next(e.Tenant, r)
		})
		if err != nil {
			return err
		}
		if len(v.list) == 0 && v.chain == "" {
			return terminal.Exit(terminal.ExitFailed, fmt.Errorf("%s holds no entry of an audit", args[0]))
		}
		for _, k := range v.list {
			if err := v.chains[k.Tenant].Begins(); err != nil && !v.part {
				return fmt.Errorf("%w: where the file is only a part of the chain, say --part", err)
			}
		}
		return v.found()
	}
	ends, err := c.AuditChains(ctx)
	if err != nil {
		return err
	}
	for i := range ends {
		if v.chain != "" && ends[i].Tenant != v.chain {
			continue
		}
		if err := v.whole(ctx, c, &ends[i]); err != nil {
			return err
		}
	}
	return v.found()
}

var errEnough = errors.New("enough")

// whole follows a daemon's chain to where it ended when it was asked for.
func (v *verifier) whole(ctx context.Context, c *client.Client, end *audit.Chain) error {
	v.chains[end.Tenant] = audit.Verify(end.Tenant, end.Removed)
	err := c.Audit(ctx, audit.Query{Tenant: end.Tenant, After: end.Removed.Seq}, func(r *audit.Row) error {
		if err := v.next(end.Tenant, r); err != nil {
			return err
		}
		if r.Seq == end.Head.Seq {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return v.chains[end.Tenant].Reaches(end.Head)
}

// next looks at a chain's next row, and at whether it is one that is known.
func (v *verifier) next(tenant string, r *audit.Row) error {
	if err := v.chains[tenant].Next(r); err != nil {
		return err
	}
	k := v.follows[tenant]
	if k == nil {
		k = &checked{Tenant: tenant, From: r.Seq}
		v.follows[tenant] = k
		v.list = append(v.list, k)
	}
	k.Entries++
	k.Head = audit.Place{Seq: r.Seq, Sum: r.Sum}
	for i, place := range v.known {
		if place == k.Head {
			v.known = append(v.known[:i:i], v.known[i+1:]...)
			break
		}
	}
	return nil
}

// found says whether there was anything, and all heads that had to be.
func (v *verifier) found() error {
	if len(v.list) == 0 && v.chain != "" {
		return fmt.Errorf("%w: there is no chain of %s", audit.ErrBroken, v.chain)
	}
	if len(v.known) > 0 {
		return fmt.Errorf("%w: no chain has %s any more: entries were cut off, replaced, or removed by age",
			audit.ErrBroken, placeText(v.known[0]))
	}
	return nil
}
