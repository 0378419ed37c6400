package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
)

func revisionOf(n int64) api.Revision {
	return api.Revision{Revision: n, At: at, By: api.Author{Agent: "graphd/1", Host: "127.0.0.1"}, Origin: "api",
		Change: "changed nodes.n", Current: n == 3}
}

func (f *fake) Revisions(_ context.Context, g api.Ref) (api.Page[api.Revision], error) {
	return api.Page[api.Revision]{Items: []api.Revision{revisionOf(3), revisionOf(2)}}, f.find(g)
}

func (f *fake) Revision(_ context.Context, g api.Ref, n int64) (api.Revision, error) {
	if n == 0 {
		n = 3
	}
	v := revisionOf(n)
	v.Declaration = "# mine\ngraph: g\n"
	if n > 3 {
		return v, &api.Error{Status: http.StatusNotFound, Code: "revision_not_found", Detail: "there is no such one"}
	}
	return v, f.find(g)
}

func (f *fake) Rollback(_ context.Context, g api.Ref, n int64, c api.Change) (api.ApplyResult, error) {
	s := summary()
	res := api.ApplyResult{Changed: true, Revision: 4, DryRun: c.DryRun, Restored: max(n, 2), Graph: &s,
		Notes: []string{"a file holds another"}}
	return res, f.call(g, fmt.Sprintf("rollback %d if %d dry %v by %s@%s", n, c.IfMatch, c.DryRun, c.By.Agent,
		c.By.Host))
}

func (f *fake) Complete(_ context.Context, g api.Ref, req api.CompletionRequest) (api.Completion, error) {
	what := fmt.Sprintf("complete %s at %d:%d", req.Declaration, req.Line, req.Column)
	return api.Completion{Before: 2, After: 1, More: true, Items: []api.Offer{
		{Sort: "member", Label: "price", Text: "price", Detail: "float", About: "What it costs."},
	}}, f.call(api.Ref{Tenant: g.Tenant, Name: "g"}, what)
}

func (f *fake) Test(_ context.Context, g api.Ref, req api.TestRequest) (api.TestResult, error) {
	what := fmt.Sprintf("test %s by %s with %v", req.Declaration, req.Tests, api.Vars(req.Set))
	return api.TestResult{Passed: 1, Failed: 1, Cases: []api.TestCase{
		{Case: "doubled", Line: 3, Passed: true, Failures: []api.TestFailure{}},
		{Case: "halved", Line: 8, Failures: []api.TestFailure{{Line: 10, Text: "value 1: is 2, expected 3"}}},
	}}, f.call(api.Ref{Tenant: g.Tenant, Name: "g"}, what)
}
