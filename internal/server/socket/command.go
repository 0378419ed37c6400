package socket

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// command carries out a command frame and sends its result.
func (e *watchEndpoint) command(ctx context.Context, f *frame) (*frameError, error) {
	name := f.text(memberCommand)
	known, ok := commandMembers[name]
	if !ok {
		there := strings.Join(slices.Sorted(maps.Keys(commandMembers)), ", ")
		return &frameError{
			api.CodeUnknownCommand, fmt.Sprintf("there is no command %q, only %s", wire.Clip(name), there),
		}, nil
	}
	if bad := f.only(name, append(known, memberCommand)...); bad != nil {
		return bad, nil
	}
	result, err := e.run(ctx, name, f)
	return nil, e.answer(ctx, f, result, err)
}

// commandMembers are the members of the REST body that each command has.
var commandMembers = map[string][]member{
	"ForceFire": {memberKey, memberOnlyChanged}, "FireWith": {memberCache, memberReplace, memberKey},
	"GetState": {memberKey},
	"Pause":    nil, "Resume": nil, "Step": {memberN}, "Drain": nil, "Checkpoint": nil,
}

func (e *watchEndpoint) run(ctx context.Context, name string, f *frame) (any, error) {
	ctl := e.c.h.ctl
	switch name {
	case "ForceFire", "FireWith":
		req, err := e.fireRequest(name, f)
		if err != nil {
			return nil, err
		}
		return ctl.Fire(ctx, e.ref, req)
	case "GetState":
		return ctl.State(ctx, e.ref, wire.Key(string(f[memberKey])))
	case "Pause":
		return ctl.Pause(ctx, e.ref, e.by)
	case "Resume":
		return ctl.Resume(ctx, e.ref, e.by)
	case "Step":
		var req api.StepRequest
		if err := e.decode(f, &req); err != nil {
			return nil, err
		}
		n, err := wire.Steps(&req)
		if err != nil {
			return nil, err
		}
		return ctl.Step(ctx, e.ref, n)
	case "Drain":
		return ctl.Drain(ctx, e.ref)
	default: // Checkpoint: commandMembers has no other
		epoch, err := ctl.Checkpoint(ctx, e.ref)
		return api.Checkpointed{Epoch: epoch}, err
	}
}

func (e *watchEndpoint) fireRequest(name string, f *frame) (api.FireRequest, error) {
	var req api.FireRequest
	if err := e.decode(f, &req); err != nil {
		return req, err
	}
	req.Mode = "force"
	if name == "FireWith" {
		req.Mode = "with"
	}
	return req, wire.CheckFire(&req)
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
