package engine

import (
	"cmp"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// unread refuses the sources of a declaration that read entries of the audit which whoever sends it may not read;
// reads is nil for one who may read everybody's. The words are the same whether there is such a tenant or not (A13).
func unread(g api.Ref, s *spec.Graph, reads func(tenant string) bool) (refused spec.Diagnostics) {
	if reads == nil {
		return nil
	}
	for i := range s.Accumulators {
		at := &s.Accumulators[i].Source
		source, ok := at.Config.(kind.Auditing)
		if !ok || reads(cmp.Or(source.Chains(), g.Tenant)) {
			continue
		}
		refused = append(refused, spec.Diagnostic{File: s.File, Line: at.Pos.Line, Column: at.Pos.Column,
			Path: at.Pos.Path, Code: decode.CodeDenied, Text: "the audit is read by administrators: a declaration " +
				"with a source of it is applied by a tenant-admin of its tenant, and one with another chain by a " +
				"platform-admin"})
	}
	return refused
}
