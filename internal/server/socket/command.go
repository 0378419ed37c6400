package socket

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// command is one that a client can give: the members of the REST body that it has, and what
// carries it out.
type command struct {
	members []member
	run     func(ctx context.Context, e *watchEndpoint, f *frame) (any, error)
}

// commands are all there are, each with the permission it takes.
func commands() map[string]access.Guard[command] {
	needs := access.Needs[command]
	fire := []member{memberKey, memberOnlyChanged}
	return map[string]access.Guard[command]{
		"ForceFire":  needs(access.Operate, command{fire, fireAs("force")}),
		"FireWith":   needs(access.Operate, command{[]member{memberCache, memberReplace, memberKey}, fireAs("with")}),
		"GetState":   needs(access.Read, command{[]member{memberKey}, getState}),
		"Pause":      needs(access.Operate, command{nil, pause}),
		"Resume":     needs(access.Operate, command{nil, resume}),
		"Step":       needs(access.Operate, command{[]member{memberN}, step}),
		"Drain":      needs(access.Operate, command{nil, drain}),
		"Checkpoint": needs(access.Operate, command{nil, takeCheckpoint}),
	}
}

// Commands are the names of the commands and the permission that each takes.
func Commands() map[string]access.Permission {
	all := map[string]access.Permission{}
	for name, guard := range commands() {
		all[name] = guard.Permission()
	}
	return all
}

// command carries out a command frame and sends its result.
func (e *watchEndpoint) command(ctx context.Context, f *frame) (*frameError, error) {
	name := f.text(memberCommand)
	guard, ok := e.c.h.commands[name]
	if !ok {
		there := strings.Join(slices.Sorted(maps.Keys(e.c.h.commands)), ", ")
		return &frameError{
			api.CodeUnknownCommand, fmt.Sprintf("there is no command %q, only %s", wire.Clip(name), there),
		}, nil
	}
	do, ok := guard.For(e.who)
	if !ok {
		e.c.h.cfg.Denied(ctx, name, e.ref.Name)
		return nil, e.answer(ctx, f, nil, wire.Forbidden(e.who, guard.Permission()))
	}
	if bad := f.only(name, append(slices.Clip(do.members), memberCommand)...); bad != nil {
		return bad, nil
	}
	result, err := do.run(ctx, e, f)
	return nil, e.answer(ctx, f, result, err)
}

func fireAs(mode string) func(context.Context, *watchEndpoint, *frame) (any, error) {
	return func(ctx context.Context, e *watchEndpoint, f *frame) (any, error) {
		req := api.FireRequest{}
		if err := e.decode(f, &req); err != nil {
			return nil, err
		}
		req.Mode = mode
		if err := wire.CheckFire(&req); err != nil {
			return nil, err
		}
		return e.c.h.ctl.Fire(ctx, e.ref, req)
	}
}

func getState(ctx context.Context, e *watchEndpoint, f *frame) (any, error) {
	return e.c.h.ctl.State(ctx, e.ref, wire.Key(string(f[memberKey])))
}

func pause(ctx context.Context, e *watchEndpoint, _ *frame) (any, error) {
	return e.seen(e.c.h.ctl.Pause(ctx, e.ref, e.who.Subject))
}

func resume(ctx context.Context, e *watchEndpoint, _ *frame) (any, error) {
	return e.seen(e.c.h.ctl.Resume(ctx, e.ref, e.who.Subject))
}

func step(ctx context.Context, e *watchEndpoint, f *frame) (any, error) {
	var req api.StepRequest
	if err := e.decode(f, &req); err != nil {
		return nil, err
	}
	n, err := wire.Steps(&req)
	if err != nil {
		return nil, err
	}
	return e.seen(e.c.h.ctl.Step(ctx, e.ref, n))
}

func drain(ctx context.Context, e *watchEndpoint, _ *frame) (any, error) {
	return e.seen(e.c.h.ctl.Drain(ctx, e.ref))
}

// seen is what the caller may see of a summary.
func (e *watchEndpoint) seen(sum api.GraphSummary, err error) (any, error) {
	return sum.Narrowed(e.who.Sees), err
}

func takeCheckpoint(ctx context.Context, e *watchEndpoint, _ *frame) (any, error) {
	epoch, err := e.c.h.ctl.Checkpoint(ctx, e.ref)
	return api.Checkpointed{Epoch: epoch}, err
}

// decode decodes the members that make up a REST body, by the same rules.
func (e *watchEndpoint) decode(f *frame, dst any) error {
	doc := []byte{'{'}
	for _, m := range []member{memberCache, memberReplace, memberKey, memberN, memberOnlyChanged} {
		if f[m] == nil {
			continue
		}
		if len(doc) > 1 {
			doc = append(doc, ',')
		}
		doc = append(append(wire.AppendString(doc, memberNames[m]), ':'), f[m]...)
	}
	return wire.DecodeObject(append(doc, '}'), e.c.h.cfg.MaxDepth, dst)
}
