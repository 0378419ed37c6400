// Package told is what is told of a graph: its summary, the guarantees in it, how fast its queues
// fill, its history, the keys and gaps as they stand on the wire, and the refusals and reasons
// that people read.
//
// It decides nothing and changes nothing of a graph. What it tells it has from the declaration,
// from the view that a reactor has published, and from what was counted ([Restarts], [Rates]); what
// else a run knows of its pieces it asks for by [Life]. Where to look: summary.go the summary ·
// guarantees.go what a user may rely on · stuck.go what is said of a reactor that does not come
// out of its epochs · history.go epochs · rates.go and restarts.go what is counted · ends.go and
// refusal.go errors as they are told · wire.go and keys.go small things on the wire.
package told
