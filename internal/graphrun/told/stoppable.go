package told

import (
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// Stoppable finds an output that is to be stopped alone, or started, or refuses. path is how an output's values leave,
// delivers says that it has somebody who delivers them.
func Stoppable(g *spec.Graph, output string, stop bool, path func(i int) reactor.Path, delivers func(i int) bool) (
	i int, err error) {
	names := make([]string, len(g.Outputs))
	i = -1
	for n := range g.Outputs {
		if names[n] = g.Outputs[n].Name; names[n] == output {
			i = n
		}
	}
	switch {
	case i < 0:
		return 0, &api.Error{Status: http.StatusNotFound, Code: "output_not_found",
			Detail: fmt.Sprintf("graph %s has no output %q", g.Name, output), Extra: map[string]any{"declared": names}}
	case stop && path(i) == reactor.PathCoTransaction:
		return 0, notStoppable(output,
			"its rows are part of each commit, and without them nothing could be committed; pause the graph instead")
	case stop && g.Outputs[i].Sink.Target().Followers():
		return 0, notStoppable(output, "nothing is handed over, and the graphs that follow would go on reading what "+
			"it keeps until this graph had no room for more; stop the inputs of those that follow instead")
	case stop && !delivers(i):
		return 0, notStoppable(output,
			"it delivers nothing: its values are counted and shown to those who watch, who can leave by themselves")
	}
	return i, nil
}

func notStoppable(output, why string) error {
	return &api.Error{Status: http.StatusConflict, Code: "output_not_stoppable",
		Detail: fmt.Sprintf("output %s cannot be stopped alone: %s", output, why)}
}
