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

	// TestResult is what became of a declaration's tests.
	TestResult = api.TestResult
	// TestCase is one of them.
	TestCase = api.TestCase
	// Completion is what can be put at a place of a declaration.
	Completion = api.Completion
	// Offer is something that can.
	Offer = api.Offer
	// TestFailure is what differed in one.
	TestFailure = api.TestFailure

	// LogLevel is from which level on the daemon logs.
	LogLevel = api.LogLevel
	// GraphList are graphs, and who has not told of those that it runs.
	GraphList = api.GraphList
	// Missing is a daemon that has not told of the graphs that it runs.
	Missing = api.Missing
	// GraphSummary is a graph as it is now.
	GraphSummary = api.GraphSummary
	// AccumulatorSummary is an input as it is now.
	AccumulatorSummary = api.AccumulatorSummary
	// AccumulatorDetail is an input with its schema and the type of its boundaries.
	AccumulatorDetail = api.AccumulatorDetail
	// OutputSummary is an output as it is now.
	OutputSummary = api.OutputSummary
	// Follower is a graph that follows an output.
	Follower = api.Follower
	// NodeCalls is what a node that calls out has asked for.
	NodeCalls = api.NodeCalls
	// KeysSummary is how many keys a graph has, and what they take.
	KeysSummary = api.KeysSummary
	// Cost is what a graph has cost so far.
	Cost = api.Cost
	// Memory is about how many bytes a graph holds in memory, by what holds them.
	Memory = api.Memory
	// FoldKeys is how many keys an input folds by.
	FoldKeys = api.FoldKeys
	// Watermark is how far the time of events has come in an input.
	Watermark = api.Watermark
	// PartitionTime is how far it has come in one partition.
	PartitionTime = api.PartitionTime
	// Versions are the versions of a table that are kept.
	Versions = api.Versions
	// TableRow is one row of a table.
	TableRow = api.TableRow
	// Counters are what became of the events of an input, or of all of them.
	Counters = api.Counters
	// DurabilityStatus is what of a graph is durable.
	DurabilityStatus = api.DurabilityStatus
	// UpdateStatus is an update of a declaration that is under way or has failed.
	UpdateStatus = api.UpdateStatus
	// Reason is why something is as it is: a stable code, and words.
	Reason = api.Reason
	// ShardSummary is how one of several shards of a graph stands.
	ShardSummary = api.ShardSummary
	// Stopped is a part that was stopped, by whom and since when.
	Stopped = api.Stopped
	// Part names one input or one output.
	Part = api.Part
	// SkipResult is what a graph is let go on without.
	SkipResult = api.SkipResult
	// Gap is what was lost of an input.
	Gap = api.Gap

	// ApplyResult is what applying a declaration did, or would do.
	ApplyResult = api.ApplyResult
	// StateChange is what an update does to the state of a part.
	StateChange = api.StateChange
	// File is a file that a declaration names.
	File = api.File
	// Revision is a declaration as it was applied once.
	Revision = api.Revision
	// Author is who applied it.
	Author = api.Author

	// State is what is inside a graph between two epochs.
	State = api.State
	// Firing is one epoch.
	Firing = api.Firing
	// FiringDetail is one epoch in full.
	FiringDetail = api.FiringDetail
	// CutInput is what an epoch took of an input.
	CutInput = api.CutInput
	// NodeRecord is what a node did in an epoch.
	NodeRecord = api.NodeRecord
	// Why is why an epoch ran, and what has become of what it gave.
	Why = api.Why
	// WhyQuery says which epoch is asked about.
	WhyQuery = api.WhyQuery
	// WhyInput is what it read of an input.
	WhyInput = api.WhyInput
	// WhyGuard is what its guard read.
	WhyGuard = api.WhyGuard
	// WhyNode is what a node did, and why.
	WhyNode = api.WhyNode
	// WhyOutput is what an output gave, and where that is.
	WhyOutput = api.WhyOutput
	// KeyPage is a part of the keys of a graph.
	KeyPage = api.KeyPage
	// KeyRow is a key in a list.
	KeyRow = api.KeyRow
	// KeyQuery pages through the keys of a graph.
	KeyQuery = api.KeyQuery
	// WhyNot is why nothing comes.
	WhyNot = api.WhyNot
	// WhyNotQuery says whose silence is asked about.
	WhyNotQuery = api.WhyNotQuery
	// Because is one reason why nothing came of something.
	Because = api.Because
	// FireRequest is what a graph is fired with.
	FireRequest = api.FireRequest
	// FireResult is the epoch that came of it.
	FireResult = api.FireResult
	// RecoveryEvent is a restart, a loss or another turn in the life of a graph.
	RecoveryEvent = api.RecoveryEvent
	// Page is a page of a list.
	Page[T any] = api.Page[T]
	// Query says which page of a list is meant.
	Query = api.Query

	// PushResult is what became of events that were pushed.
	PushResult = api.PushResult
	// Rejection is why one event was refused.
	Rejection = api.Rejection
	// Refusal is what a daemon refuses with, as it has it itself; over the wire it is a [Problem].
	Refusal = api.Error

	// Frame is what a subscription is told.
	Frame = api.Frame
	// GraphRow is a graph as watchers of the summaries of all graphs are told of it.
	GraphRow = api.GraphRow
	// ListTold is how many graphs they were told of, and who has not told of those that it runs.
	ListTold = api.ListTold

	// DeadLetter is an event or a value that could not be taken or delivered.
	DeadLetter = api.DeadLetter
	// LetterPage is a page of dead letters.
	LetterPage = api.LetterPage
	// LetterQuery says which page of them is meant.
	LetterQuery = api.LetterQuery
	// LetterChoice chooses dead letters.
	LetterChoice = api.LetterChoice
	// LettersRequest says which dead letters are replayed or discarded.
	LettersRequest = api.LettersRequest
	// LettersResult is what became of them.
	LettersResult = api.LettersResult
	// LetterReason is why letters would fail again.
	LetterReason = api.LetterReason

	// Status is whether the daemon takes work.
	Status = api.Status
	// Warning is what has to be looked after before it does not.
	Warning = api.Warning
	// Version is the release of the daemon.
	Version = api.Version
	// TreeNode is one of the tasks of the daemon.
	TreeNode = api.TreeNode
	// Limit is a limit with its use.
	Limit = api.Limit
	// Member is a daemon on the same store.
	Member = api.Member
	// Places are where a watcher is in the streams of a graph's shards: Places[f.Shard] = f.At() behind each frame f.
	Places = api.Places
	// Place is where it is in one of them.
	Place = api.Place
	// Placed is a graph with the member that runs it.
	Placed = api.Placed

	// Token is a token without its text.
	Token = api.Token
	// TokenRequest says what token is to be made.
	TokenRequest = api.TokenRequest
	// NewToken is a token that was made, with its text.
	NewToken = api.NewToken
	// WhoAmI is whom a client acts as, and what that may do.
	WhoAmI = api.WhoAmI
	// Ticket opens one socket.
	Ticket = api.Ticket

	// AuditQuery says which entries of a chain are meant.
	AuditQuery = audit.Query
	// AuditRow is an entry in its chain, byte for byte.
	AuditRow = audit.Row
	// AuditEntry is what an entry tells.
	AuditEntry = audit.Entry
	// AuditActor is who did it, and from where.
	AuditActor = audit.Actor
	// AuditKind is what an entry tells of: an intent, a result, a denial.
	AuditKind = audit.Kind
	// AuditChain is a tenant's chain: where it begins and ends.
	AuditChain = audit.Chain
	// AuditPlace is a place in a chain with its sum.
	AuditPlace = audit.Place
	// AuditSum is the digest of an entry and of all before it.
	AuditSum = audit.Sum
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
