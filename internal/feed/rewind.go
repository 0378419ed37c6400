package feed

import (
	"fmt"

	"github.com/graphd/graphd/internal/spec"
)

// NotKept says why an input that other graphs feed cannot be rewound; "" where none does.
func NotKept(a *spec.Accumulator) string {
	graph, output, linked := a.Source.Origin().Graph()
	switch {
	case !linked:
		return ""
	case a.Source.Origin().Follows():
		return fmt.Sprintf("accumulator %s follows output %s of graph %s, which keeps what this graph does not have "+
			"in a checkpoint, and nothing of before; a reset of this graph begins with what is kept", a.Name, output,
			graph)
	default:
		return fmt.Sprintf("accumulator %s is fed by graph %s, which keeps nothing to be read again", a.Name, graph)
	}
}
