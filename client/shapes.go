package client

import (
	"errors"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
)

// The shapes of requests and answers, as api/openapi.yaml describes them under the same names.
type (
	// Problem is a refusal by the daemon; Code is stable, Detail says what to do.
	Problem = api.Problem
	// Diagnostic is one mistake of a declaration.
	Diagnostic = api.Diagnostic
	// Diagnostics are all mistakes of one.
	Diagnostics = api.Diagnostics

	// GraphSummary is a graph as it is now.
	GraphSummary       = api.GraphSummary
	AccumulatorSummary = api.AccumulatorSummary
	AccumulatorDetail  = api.AccumulatorDetail
	OutputSummary      = api.OutputSummary
	KeysSummary        = api.KeysSummary
	Cost               = api.Cost
	FoldKeys           = api.FoldKeys
	Versions           = api.Versions
	TableRow           = api.TableRow
	Counters           = api.Counters
	DurabilityStatus   = api.DurabilityStatus
	UpdateStatus       = api.UpdateStatus
	Reason             = api.Reason
	Stopped            = api.Stopped
	// Part names one input or one output.
	Part = api.Part
	// SkipResult is what a graph is let go on without.
	SkipResult = api.SkipResult
	Gap        = api.Gap

	// ApplyResult is what applying a declaration did, or would do.
	ApplyResult = api.ApplyResult
	StateChange = api.StateChange
	File        = api.File
	Revision    = api.Revision
	Author      = api.Author

	// State is what is inside a graph between two epochs.
	State = api.State
	// Firing is one epoch, FiringDetail one in full.
	Firing        = api.Firing
	FiringDetail  = api.FiringDetail
	CutInput      = api.CutInput
	NodeRecord    = api.NodeRecord
	FireRequest   = api.FireRequest
	FireResult    = api.FireResult
	RecoveryEvent = api.RecoveryEvent
	// Page is a page of a list; Query says which.
	Page[T any] = api.Page[T]
	Query       = api.Query

	// PushResult is what became of events that were pushed, Rejection why one was refused.
	PushResult = api.PushResult
	Rejection  = api.Rejection

	// Frame is what a subscription is told.
	Frame = api.Frame

	DeadLetter     = api.DeadLetter
	LetterPage     = api.LetterPage
	LetterQuery    = api.LetterQuery
	LetterChoice   = api.LetterChoice
	LettersRequest = api.LettersRequest
	LettersResult  = api.LettersResult
	LetterReason   = api.LetterReason

	Status   = api.Status
	Warning  = api.Warning
	Version  = api.Version
	TreeNode = api.TreeNode
	Limit    = api.Limit
	Member   = api.Member
	Placed   = api.Placed

	Token        = api.Token
	TokenRequest = api.TokenRequest
	NewToken     = api.NewToken
	Ticket       = api.Ticket

	// AuditQuery says which entries of a chain are meant.
	AuditQuery = audit.Query
	AuditRow   = audit.Row
	AuditEntry = audit.Entry
	AuditActor = audit.Actor
	AuditKind  = audit.Kind
	AuditChain = audit.Chain
	AuditPlace = audit.Place
	AuditSum   = audit.Sum
)

// Code is the stable code of a refusal, of which docs/codes.md has the list; "" for every other error.
func Code(err error) string {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return p.Code
	}
	if e, ok := errors.AsType[*api.Error](err); ok { // of a daemon in the same program
		return e.Code
	}
	return ""
}
