package graph

import (
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// evaluator computes a value from an environment: *[expression.Program].
type evaluator interface {
	Eval(env *expression.Env) (boundary.Value, error)
}

// step is the executable form of a node. Steps lie side by side in plan order and
// are kept small: an epoch walks over them.
type step struct {
	program evaluator // of a route node: *[choice]
	// consumers are the nodes that rest on this one, all of them later in the plan:
	// this part of Plan.links.
	firstLink, lastLink int32
	after               int32 // the node that must have a value; -1 for none
	route               int32 // which of Plan.routes that must be; -1 for any
	event               bool
	onError             policy
	// memories are the place in a state of what the node's functions remember; see memory.go.
	memories place
}

// choice is what a route node evaluates: its value is the name of the first route
// whose condition holds, null when none does.
type choice struct {
	names      []string
	values     []boundary.Value // the names
	conditions []*expression.Program
	memories   []place // by condition, within the node's; nil when none remembers anything
}

// Eval implements evaluator.
func (c *choice) Eval(env *expression.Env) (boundary.Value, error) {
	all := env.Memories
	for i, condition := range c.conditions {
		if c.memories != nil {
			env.Memories = c.memories[i].of(all)
		}
		holds, err := condition.EvalBool(env)
		if err != nil {
			return boundary.Value{}, fmt.Errorf("route %s: %w", c.names[i], err)
		}
		if holds {
			return c.values[i], nil
		}
	}
	return boundary.Null(), nil
}

// policy is a node's on_error.
type policy uint8

const (
	failEpoch policy = iota
	skip
	lastGood
	deadLetter
)

func policyOf(onError string) policy {
	switch onError {
	case "skip":
		return skip
	case "last_good":
		return lastGood
	case "dead_letter":
		return deadLetter
	default:
		return failEpoch
	}
}
