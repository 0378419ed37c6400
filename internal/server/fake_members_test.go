package server

import (
	"context"

	"github.com/graphd/graphd/internal/api"
)

func (f *fake) ListMembers(context.Context) ([]api.Member, error) {
	return []api.Member{{ID: "m1", Name: "host/1", Address: "10.0.0.1:8080", Version: "dev", Capacity: 1,
		StartedAt: &at, State: "live", Self: true, Graphs: []api.Placed{{Tenant: "default", Graph: "g", Rank: 1}}}}, nil
}

func (f *fake) DrainMember(_ context.Context, member string, _ bool, _ string) error {
	if member != "m1" {
		return &api.Error{Status: 404, Code: "member_not_found", Detail: "no such member"}
	}
	return nil
}
