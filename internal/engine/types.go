package engine

import "github.com/graphd/graphd/internal/api"

// The engine's answers are what stands on the wire. These names are here for the engine's own
// files alone; everybody else says api.X.
type (
	Ref                = api.Ref
	Query              = api.Query
	Reason             = api.Reason
	Counters           = api.Counters
	DurabilityStatus   = api.DurabilityStatus
	AccumulatorSummary = api.AccumulatorSummary
	AccumulatorDetail  = api.AccumulatorDetail
	OutputSummary      = api.OutputSummary
	KeysSummary        = api.KeysSummary
	GraphSummary       = api.GraphSummary
	UpdateStatus       = api.UpdateStatus
	StateChange        = api.StateChange
	ApplyResult        = api.ApplyResult
	Firing             = api.Firing
	FiringDetail       = api.FiringDetail
	CutInput           = api.CutInput
	NodeRecord         = api.NodeRecord
	FireRequest        = api.FireRequest
	FireResult         = api.FireResult
	State              = api.State
	PushResult         = api.PushResult
	Rejection          = api.Rejection
	TreeNode           = api.TreeNode
	Limit              = api.Limit
	Frame              = api.Frame
	Error              = api.Error
	DeadLetter         = api.DeadLetter
	RecoveryEvent      = api.RecoveryEvent
	Subscription       = api.Subscription
)

// Page is a list, newest first.
type Page[T any] = api.Page[T]
