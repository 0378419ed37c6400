package graph

import "github.com/graphd/graphd/internal/kind"

// step is the executable form of a node. Steps lie side by side in plan order and
// are kept small: an epoch walks over them.
type step struct {
	program kind.Evaluator
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
