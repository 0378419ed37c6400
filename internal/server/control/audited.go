package control

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
)

// Audited is c, with an intent before and a result behind each change in a trail's chains; nil is none. A change
// whose intent cannot be written is refused. Pushes and reads go through as they are.
func Audited(c Control, t *audit.Trail) Control {
	if t == nil {
		return c
	}
	return &audited{Control: c, trail: t}
}

type audited struct {
	Control
	trail *audit.Trail
}

// do makes a change of a graph. Of one that is not there none can be made: that is told of as a denial is, folded,
// for names cost nothing and would fill the chain.
func do[T any](ctx context.Context, a *audited, operation string, g api.Ref, detail []string,
	change func(context.Context) (T, error), told func(T) []string) (T, error) {
	if g.Name != "" {
		if err := a.Find(g); err != nil {
			by := audit.By(ctx)
			by.Tenant = cmp.Or(g.Tenant, by.Tenant)
			a.trail.Denied(by, operation, g.Name, api.CodeGraphNotFound)
			var none T
			return none, err
		}
	}
	action := audit.Action{Tenant: g.Tenant, Operation: operation, Graph: g.Name, Detail: detail}
	return audit.Do(ctx, a.trail, action, change, told)
}

type nothing = struct{}

// plain makes a change that answers nothing.
func (a *audited) plain(ctx context.Context, operation string, g api.Ref, detail []string,
	change func(context.Context) error) error {
	_, err := do(ctx, a, operation, g, detail, func(ctx context.Context) (nothing, error) {
		return nothing{}, change(ctx)
	}, nil)
	return err
}

// steer makes a change that answers with the graph.
func (a *audited) steer(ctx context.Context, operation string, g api.Ref, detail []string,
	change func(context.Context) (api.GraphSummary, error)) (api.GraphSummary, error) {
	return do(ctx, a, operation, g, detail, change, nil)
}

func (a *audited) Apply(ctx context.Context, g api.Ref, document []byte, c api.Change) (api.ApplyResult, error) {
	return Applied(ctx, a.trail, "apply", c, func(c api.Change) (api.ApplyResult, error) {
		return a.Control.Apply(ctx, g, document, c)
	})
}

func (a *audited) Rollback(ctx context.Context, g api.Ref, revision int64, c api.Change) (api.ApplyResult, error) {
	return Applied(ctx, a.trail, "rollback", c, func(c api.Change) (api.ApplyResult, error) {
		return a.Control.Rollback(ctx, g, revision, c)
	})
}

// Applied applies a declaration. The intent is written when it is known what would change: what is refused before
// that, a dry run, and what would change nothing leave none.
func Applied(ctx context.Context, t *audit.Trail, operation string, c api.Change,
	apply func(api.Change) (api.ApplyResult, error)) (res api.ApplyResult, err error) {
	if t == nil {
		return apply(c)
	}
	var act *audit.Act
	c.Before = func(ctx context.Context, g api.Ref, would *api.ApplyResult) (err error) {
		act, err = t.Begin(ctx, audit.Action{Tenant: g.Tenant, Operation: operation, Graph: g.Name,
			Detail: wouldChange(would)})
		return err
	}
	defer func() { act.End(ctx, audit.ErrPanic) }() // where apply did not come back
	res, err = apply(c)
	var detail []string
	if err == nil {
		detail = append([]string{"revision " + strconv.FormatInt(res.Revision, 10)}, res.Troubles...)
	}
	act.End(ctx, err, detail...)
	return res, err
}

// Files applies declarations of the operator's own.
type Files interface {
	ApplyFile(ctx context.Context, tenant, path string, document []byte, c api.Change) (api.ApplyResult, error)
}

// ApplyOwn applies one of the operator's own declarations; subject says where they come from.
func ApplyOwn(ctx context.Context, f Files, t *audit.Trail, subject, name string, doc []byte, c api.Change) (
	api.ApplyResult, error) {
	ctx = audit.As(ctx, audit.Actor{Tenant: checkpoint.DefaultTenant, Subject: subject, From: "file:" + name})
	return Applied(ctx, t, "apply", c, func(c api.Change) (api.ApplyResult, error) {
		return f.ApplyFile(ctx, checkpoint.DefaultTenant, name, doc, c)
	})
}

// wouldChange tells what a declaration changes. What is secret in it has been left out of the difference.
func wouldChange(would *api.ApplyResult) []string {
	detail := slices.Clone(would.Diff)
	switch {
	case would.Created:
		detail = append([]string{"new"}, detail...)
	case would.Restated:
		detail = append([]string{"text only"}, detail...)
	}
	if would.Restored != 0 {
		detail = append([]string{"back to revision " + strconv.FormatInt(would.Restored, 10)}, detail...)
	}
	if would.Revision != 0 {
		detail = append([]string{"over revision " + strconv.FormatInt(would.Revision, 10)}, detail...)
	}
	return detail
}

func (a *audited) Delete(ctx context.Context, g api.Ref, deleteState bool) error {
	detail := []string{"state kept"}
	if deleteState {
		detail = []string{"with its state"}
	}
	return a.plain(ctx, "delete", g, detail, func(ctx context.Context) error {
		return a.Control.Delete(ctx, g, deleteState)
	})
}

func (a *audited) Fire(ctx context.Context, g api.Ref, req api.FireRequest) (api.FireResult, error) {
	detail := []string{req.Mode} // the values it fires with are events, and not written down
	if len(req.Key) > 0 {
		detail = append(detail, "key "+string(req.Key))
	}
	return do(ctx, a, "fire", g, detail, func(ctx context.Context) (api.FireResult, error) {
		return a.Control.Fire(ctx, g, req)
	}, func(res api.FireResult) []string {
		epoch := fmt.Sprintf("epoch %d", res.Epoch)
		if !res.OK {
			epoch += " failed"
		}
		return []string{epoch}
	})
}

func (a *audited) Pause(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error) {
	return a.steer(ctx, "pause", g, nil, func(ctx context.Context) (api.GraphSummary, error) {
		return a.Control.Pause(ctx, g, by)
	})
}

func (a *audited) Resume(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error) {
	return a.steer(ctx, "resume", g, nil, func(ctx context.Context) (api.GraphSummary, error) {
		return a.Control.Resume(ctx, g, by)
	})
}

func (a *audited) Step(ctx context.Context, g api.Ref, n int) (api.GraphSummary, error) {
	return a.steer(ctx, "step", g, []string{strconv.Itoa(n)}, func(ctx context.Context) (api.GraphSummary, error) {
		return a.Control.Step(ctx, g, n)
	})
}

func (a *audited) Checkpoint(ctx context.Context, g api.Ref) (int64, error) {
	return do(ctx, a, "checkpoint", g, nil, func(ctx context.Context) (int64, error) {
		return a.Control.Checkpoint(ctx, g)
	}, func(epoch int64) []string { return []string{"epoch " + strconv.FormatInt(epoch, 10)} })
}

func (a *audited) Drain(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
	return a.steer(ctx, "drain", g, nil, func(ctx context.Context) (api.GraphSummary, error) {
		return a.Control.Drain(ctx, g)
	})
}

func (a *audited) Restart(ctx context.Context, g api.Ref, accumulator, by string) (api.GraphSummary, error) {
	return a.steer(ctx, "restart", g, part(api.Part{Accumulator: accumulator}),
		func(ctx context.Context) (api.GraphSummary, error) { return a.Control.Restart(ctx, g, accumulator, by) })
}

func (a *audited) SkipLost(ctx context.Context, g api.Ref, accumulator, by string) (api.SkipResult, error) {
	return do(ctx, a, "skip-lost", g, part(api.Part{Accumulator: accumulator}),
		func(ctx context.Context) (api.SkipResult, error) { return a.Control.SkipLost(ctx, g, accumulator, by) },
		func(res api.SkipResult) (gaps []string) {
			for _, gap := range res.Gaps {
				gaps = append(gaps, gap.Stream+" from "+gap.From)
			}
			return gaps
		})
}

// part names the part that is meant.
func part(p api.Part) []string {
	switch {
	case p.Accumulator != "":
		return []string{"accumulator " + p.Accumulator}
	case p.Output != "":
		return []string{"output " + p.Output}
	}
	return nil
}

func (a *audited) StopPart(ctx context.Context, g api.Ref, p api.Part, by string) (api.GraphSummary, error) {
	return a.steer(ctx, "stop", g, part(p), func(ctx context.Context) (api.GraphSummary, error) {
		return a.Control.StopPart(ctx, g, p, by)
	})
}

func (a *audited) StartPart(ctx context.Context, g api.Ref, p api.Part, by string) (api.GraphSummary, error) {
	return a.steer(ctx, "start", g, part(p), func(ctx context.Context) (api.GraphSummary, error) {
		return a.Control.StartPart(ctx, g, p, by)
	})
}

func (a *audited) Reset(ctx context.Context, g api.Ref, confirm, by string) (api.GraphSummary, error) {
	return a.steer(ctx, "reset", g, nil, func(ctx context.Context) (api.GraphSummary, error) {
		return a.Control.Reset(ctx, g, confirm, by)
	})
}

func (a *audited) Rewind(ctx context.Context, g api.Ref, accumulator, position, confirm, by string) (
	api.GraphSummary, error) {
	return a.steer(ctx, "rewind", g, append(part(api.Part{Accumulator: accumulator}), "to "+position),
		func(ctx context.Context) (api.GraphSummary, error) {
			return a.Control.Rewind(ctx, g, accumulator, position, confirm, by)
		})
}

// Backup is written down although it changes nothing: who has the copy has everything.
func (a *audited) Backup(ctx context.Context, send func(copied io.Reader, size int64) error) error {
	return a.plain(ctx, "backup", api.Ref{Tenant: audit.Daemon}, nil, func(ctx context.Context) error {
		return a.Control.Backup(ctx, send)
	})
}

func (a *audited) DrainMember(ctx context.Context, member string, drained bool, by string) error {
	operation := "drain member"
	if !drained {
		operation = "undrain member"
	}
	return a.plain(ctx, operation, api.Ref{Tenant: audit.Daemon}, []string{"member " + member},
		func(ctx context.Context) error { return a.Control.DrainMember(ctx, member, drained, by) })
}
