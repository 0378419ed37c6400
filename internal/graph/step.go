package graph

import "github.com/graphd/graphd/internal/kind"

// step is the executable form of a node. Steps lie side by side in plan order and
// are kept small: an epoch walks over them.
type step struct {
	program kind.Evaluator
	// consumers are the nodes that rest on this one, all of them later in the plan:
	// this part of Plan.links.
	firstLink, lastLink int32
	gates               place // what the node comes after: this part of Plan.gates
	allGates            bool  // all of them must be open, and not only one
	event               bool
	onError             policy
	// memories are the place in a state of what the node's functions remember; see memory.go.
	memories place
	loop     int32 // which of the plan's loops it runs in, counted from 1; 0 for none
	foreign  bool  // its program may not come back
	degrade  bool  // it keeps its value when it takes longer than its budget
	calls    bool  // its program is a [kind.Caller]
	lane     int32 // which of the plan's pools it runs in, counted from 1; 0 for none
	wave     int32 // which of the plan's waves it is of, counted from 1; 0 for none
	rate     uint8 // which of the plan's rates it runs at, counted from 1; 0 for none
	lap      int32 // at which tick in a row it sees what there was before; see Plan.Owes
	apart    bool  // it is more to evaluate it than to call its program
}

// gate is a node, or one of its routes, that another node comes after.
type gate struct {
	node  int
	route string // "" for any value but null
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
