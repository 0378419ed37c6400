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
	cmd := a.ask("verify [FILE]", "Verify that the audit is as it was written",
		`Follow the chains of the audit, or those in a FILE of graphd audit list -o json,
and compute each entry's sum: an entry that was changed, removed, put in or moved
is named, and the command fails. Give the heads that were kept elsewhere, as graphd
audit heads shows them: only these tell a chain that was cut off at its end, or
written anew as a whole.`, cobra.MaximumNArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			v := &verifier{chain: chain, follows: map[string]*checked{}, chains: map[string]*audit.Verifier{}}
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
	return cmd
}

// verifier follows chains.
type verifier struct {
	chain   string // only this one; "" for all
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

// found says whether all heads were there that had to be.
func (v *verifier) found() error {
	if len(v.known) > 0 {
		return fmt.Errorf("%w: no chain has %s any more: entries were cut off, replaced, or removed by age",
			audit.ErrBroken, placeText(v.known[0]))
	}
	return nil
}
