package main

import (
	"encoding/json"
	"net/http"

	"github.com/graphd/graphd/internal/api"
)

// What the fake daemon has applied of its graphs.

const deployed = "# the desk's\ngraph: market_maker\n"

func revisions() []api.Revision {
	return []api.Revision{
		{Revision: 3, At: now, By: api.Author{Agent: "graphd (ana)", Host: "10.0.0.7"}, Origin: "api",
			Change: "changed nodes.edge, added outputs.audit", Current: true},
		{Revision: 2, At: now, Origin: "file:/etc/graphd/graphs/market_maker.yaml", Change: "made"},
	}
}

func rollback(w http.ResponseWriter, r *http.Request) {
	var req api.RollbackRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if req.Revision != nil && *req.Revision == 1 {
		refuse(w, 404, "revision_not_found", "there is no revision 1 of graph market_maker", nil)
		return
	}
	res := api.ApplyResult{Changed: true, Revision: 3, DryRun: req.DryRun, Restored: 2, Diff: []string{
		"changed nodes.edge.expr: a → b", "removed outputs.audit",
	}}
	if !req.DryRun {
		g := marketMaker()
		res.Revision, res.Graph = 4, &g
		res.Notes = []string{"/g/market_maker.yaml still holds what was rolled back"}
	}
	answer(w, 200, res)
}
