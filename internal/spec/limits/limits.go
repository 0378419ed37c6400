// Package limits is what a declaration says of how much its graph may take of the daemon that runs it: begin with
// [Limits].
package limits

import (
	"strconv"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// The bounds of the bounds: far above what is sensible, and low enough that a slip of the finger is caught.
const (
	leastCPU  = 0.01
	mostCPU   = 1024
	mostCount = 1 << 31

	leastMemory = 1 << 20 // less than that an idle graph has
	mostMemory  = 1 << 40
)

// Limits are those of one graph. The zero value of a field is no bound.
type Limits struct {
	// EventsPerSecond bounds what all inputs take together, 1 to 2^31.
	EventsPerSecond int
	// CPU bounds how long the reactor and the threads of pools are at work, in cores: 0.5 is half of the time. 0.01 to
	// 1,024; more than one is for graphs with pools or shards.
	CPU float64
	// Memory bounds about how many bytes the graph holds, 1 MiB to 1 TiB.
	Memory int64
}

// Fields are how limits are read.
func Fields() []decode.Field[Limits] {
	return []decode.Field[Limits]{
		{Name: "events_per_second", Read: func(d *decode.Decoder, v decode.Value, l *Limits) {
			d.Count(v, 1, mostCount, &l.EventsPerSecond)
		}},
		{Name: "cpu", Read: readCPU},
		{Name: "memory", Read: func(d *decode.Decoder, v decode.Value, l *Limits) {
			d.Bytes(v, leastMemory, mostMemory, &l.Memory)
		}},
	}
}

func readCPU(d *decode.Decoder, v decode.Value, l *Limits) {
	cores, ok := d.Number(v, "a number of cores such as 0.5 or 2")
	switch {
	case !ok:
	case cores >= leastCPU && cores <= mostCPU:
		l.CPU = cores
	default: // not a number, too
		d.Report(v.Here(), decode.CodeOutOfRange, "", "%s is out of range; give a number of cores between %v and %v, "+
			"such as 0.5 for half of one", v.Described(), leastCPU, mostCPU)
	}
}

// Canonical writes what is bounded: a declaration from before there were limits means the same.
func (l Limits) Canonical(t *meaning.Tree) {
	if l == (Limits{}) {
		return
	}
	b := t.Branch("limits")
	if l.EventsPerSecond > 0 {
		b.Number("events_per_second", int64(l.EventsPerSecond))
	}
	if l.CPU > 0 {
		b.Leaf("cpu", strconv.FormatFloat(l.CPU, 'g', -1, 64))
	}
	if l.Memory > 0 {
		b.Number("memory", l.Memory)
	}
}
