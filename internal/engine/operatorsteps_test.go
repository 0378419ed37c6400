package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
)

// step is one thing that is done to it.
type step struct {
	name string
	do   func(o *operated, ctx context.Context) error
}

// steps are all that may be done; a refusal is told by its code.
var steps = []step{
	{"push", func(o *operated, _ context.Context) error {
		for range 1 + o.rng.IntN(4) {
			o.pushed++
			event := fmt.Sprintf(`{"x":%d,"k":"k%d"}`, o.pushed, o.pushed%5)
			input := o.inputs()[o.rng.IntN(len(o.inputs()))]
			res, err := o.b.e.Push(o.t.Context(), operatedRef, input, []json.RawMessage{[]byte(event)})
			if err != nil {
				return err
			}
			if res.Accepted != 1 {
				o.t.Fatalf("push: %+v", res)
			}
			o.taken[input] = append(o.taken[input], o.pushed)
		}
		return nil
	}},
	{"pause", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Pause(ctx, operatedRef, "op")
		if err == nil {
			o.paused = true
			o.saved()
		}
		return err
	}},
	{"resume", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Resume(ctx, operatedRef, "op")
		if err == nil {
			o.paused = false
		}
		return err
	}},
	{"step", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Step(ctx, operatedRef, 1)
		return err
	}},
	{"force", func(o *operated, ctx context.Context) error {
		req := api.FireRequest{Mode: "force"}
		if len(o.taken["a"]) == 0 {
			return nil
		}
		if o.shards > 0 {
			req.Key = json.RawMessage(o.key(o.taken["a"][0]))
		}
		_, err := o.b.e.Fire(ctx, operatedRef, req)
		return err
	}},
	{"checkpoint", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Checkpoint(ctx, operatedRef)
		if err == nil {
			o.saved()
		}
		return err
	}},
	{"restart", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Restart(ctx, operatedRef, "", "op")
		synctest.Wait()
		if err == nil {
			o.lose()
		}
		return err
	}},
	{"restart the input", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Restart(ctx, operatedRef, o.inputs()[o.rng.IntN(len(o.inputs()))], "op")
		return err
	}},
	{"reset", func(o *operated, ctx context.Context) error {
		_, err := o.b.e.Reset(ctx, operatedRef, "g", "op")
		if err == nil {
			o.forget()
		}
		return err
	}},
	{"stop the input", func(o *operated, ctx context.Context) error {
		if _, err := o.b.e.StopPart(ctx, operatedRef, api.Part{Accumulator: "a"}, "op"); err != nil {
			return err
		}
		_, err := o.b.e.StartPart(ctx, operatedRef, api.Part{Accumulator: "a"}, "op")
		return err
	}},
	{"stop the output", func(o *operated, ctx context.Context) error {
		if _, err := o.b.e.StopPart(ctx, operatedRef, api.Part{Output: "o"}, "op"); err != nil {
			return err
		}
		_, err := o.b.e.StartPart(ctx, operatedRef, api.Part{Output: "o"}, "op")
		return err
	}},
	{"another output", func(o *operated, ctx context.Context) error {
		o.outputs = 1 - o.outputs
		return o.update(ctx)
	}},
	{"another durability", func(o *operated, ctx context.Context) error {
		before := o.mode
		o.mode = []string{"journal", "checkpoint", "none"}[o.rng.IntN(3)]
		if o.shards > 0 { // where a crash leaves a beginning of each shard's
			o.mode = []string{"journal", "none"}[o.rng.IntN(2)]
		}
		if before == o.mode {
			return nil
		}
		if before == "none" { // which leaves nothing to who comes after it
			o.forget()
		}
		return o.update(ctx)
	}},
	{"another number of shards", func(o *operated, ctx context.Context) error {
		if o.shards == 0 || o.mode == "none" {
			return nil
		}
		if n := 1 + o.rng.IntN(4); n == o.shards {
			return nil
		} else {
			o.shards = n
		}
		return o.update(ctx)
	}},
	{"remove", func(o *operated, ctx context.Context) error {
		gone := o.rng.IntN(2) == 0
		err := o.b.e.Delete(ctx, operatedRef, gone)
		if err == nil {
			o.there = false
			o.saved()
			if gone || o.mode == "none" {
				o.forget()
			}
			if gone {
				o.paused = false
			}
		}
		return err
	}},
	{"stop the process", func(o *operated, _ context.Context) error {
		o.b.close()
		o.saved()
		o.start()
		o.lose()
		return nil
	}},
	{"lose the process", func(o *operated, _ context.Context) error {
		o.dead = append(o.dead, o.b)
		o.start()
		o.lose()
		return nil
	}},
}

func (o *operated) update(ctx context.Context) error {
	_, err := o.b.e.Apply(ctx, operatedRef, []byte(o.document()), api.Change{})
	if err == nil {
		o.there = true
		o.saved()
		if o.mode == "none" {
			o.forget()
		}
	}
	return err
}
