package spec

import "github.com/graphd/graphd/internal/spec/decode"

// checkLanes checks that the lanes that nodes name are there.
func (d *draft) checkLanes() {
	known := make(map[string]bool, len(d.Lanes))
	names := make([]string, len(d.Lanes))
	for i := range d.Lanes {
		names[i] = d.Lanes[i].Name
		known[names[i]] = true
	}
	for i := range d.Nodes {
		if name := d.Nodes[i].Lane.Name; name != "" && !known[name] {
			at := d.links.nodes[i].lane
			d.Report(at.Here(), decode.CodeUnknownName, d.Nearest(at.Text(), names),
				"there is no lane %s; declare it under lanes, or correct the name", at.Shown())
		}
	}
}
