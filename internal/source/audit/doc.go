// Package audit is a source that reads a chain of the audit: who has changed what, and who was denied what.
//
// An event is a row as GET /v1/audit answers it. The position after it is its number, so that behind a crash reading
// goes on where it was. Whose declaration may name which chain is decided where it is applied; see [Declared.Chains].
//
// # Concurrency
//
// Nothing here starts a goroutine. A Source may be run by several goroutines at once.
package audit
