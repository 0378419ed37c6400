package told

import (
	"strings"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec/trait"
)

// guarantees says in one sentence per output what a user may rely on (M31). Each sentence
// is derived from sources, durability and sink path, and backed by a test that kills the daemon.
func (k *Known) guarantees() map[string]string {
	declared := k.Spec
	state, durable := k.stateGuarantee()
	out := make(map[string]string, len(declared.Outputs))
	for i := range declared.Outputs {
		o := &declared.Outputs[i]
		stored := k.Path(i) == reactor.PathOutbox
		out[o.Name] = state + "; " + o.Sink.Target().Promise(k.deliveryGuarantee(i, durable), stored)
	}
	return out
}

// deliveryGuarantee says what a crash does to the values of output i.
func (k *Known) deliveryGuarantee(i int, durable bool) string {
	path := k.Path(i)
	switch {
	case !durable && path == reactor.PathDirect:
		return "values are written when their epoch ends, each once while the daemon runs"
	case !durable:
		return "values are delivered when their epoch is committed, each once while the daemon runs"
	case path == reactor.PathCoTransaction:
		return "values are written to the table by the transaction that commits the state: each exactly once, also " +
			"after a crash"
	case path == reactor.PathOutbox:
		return "values are committed with the state and delivered afterwards, in order, none lost; after a crash " +
			"some may be sent again with the same firing id, so a receiver that drops ids it has seen gets each " +
			"value once"
	case k.Spec.Durability.Mode == "journal":
		return "values are written once their epoch is in the journal, none lost; after a crash some may be written " +
			"again with the same firing id, so a receiver that drops ids it has seen gets each value once"
	}
	return "values are written when their epoch ends, before they are durable: after a crash epochs since the last " +
		"checkpoint may run again and write their values again"
}

// stateGuarantee says what a crash does to the graph's state, and whether any of it is durable.
func (k *Known) stateGuarantee() (sentence string, durable bool) {
	declared := k.Spec
	switch {
	case declared.Durability.Mode == "none":
		return "The graph's state is lost when the daemon stops (durability: none)", false
	case k.Volatile:
		return "The store is memory: everything is lost when the daemon stops", false
	}
	read, polled, rows, lost := false, false, false, ""
	for i := range declared.Accumulators {
		if declared.Accumulators[i].Fed() {
			continue // its events are made of those of the others
		}
		switch origin := declared.Accumulators[i].Source.Origin(); {
		case origin.After() == trait.Again:
			read = true
		case origin.After() == trait.Anew:
			polled = true
		case origin.After() == trait.Compared:
			rows = true
		case origin.Pulls():
			lost = "events pushed or received"
		case lost == "":
			lost = "events pushed"
		}
	}
	var clauses []string
	if read {
		clauses = append(clauses, "each event read from a source is in the graph's state exactly once")
	}
	if polled && declared.Durability.Mode == "journal" {
		clauses = append(clauses, "a document that was polled and admitted is in the graph's state, also after a crash")
	} else if polled {
		clauses = append(clauses,
			"a document polled after the last checkpoint is polled again after a crash, if it is still there")
	}
	if rows && declared.Durability.Mode == "journal" {
		clauses = append(clauses, "a row that was polled and admitted is in the graph's state, also after a crash")
	} else if rows {
		clauses = append(clauses, "a polled row that is new or has changed is in the graph's state exactly once; "+
			"after a crash, as the row is then")
	}
	if lost != "" && declared.Durability.Mode == "journal" {
		clauses = append(clauses,
			"each event that was pushed and answered as durable is in the graph's state, also after a crash")
	} else if lost != "" {
		clauses = append(clauses, lost+" after the last checkpoint (every "+declared.Durability.Interval.String()+
			") are lost by a crash or a lost lease")
	}
	if read && len(clauses) == 1 {
		clauses[0] += ", also after a crash"
	}
	text := strings.Join(clauses, "; ")
	return strings.ToUpper(text[:1]) + text[1:], true
}
