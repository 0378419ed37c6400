package spec

import "github.com/graphd/graphd/internal/spec/decode"

// The codes of [decode] that later checks of a declaration give too.
const (
	CodeBadValue      = decode.CodeBadValue
	CodeCannotShard   = decode.CodeCannotShard
	CodeConflict      = decode.CodeConflict
	CodeDenied        = decode.CodeDenied
	CodeDuplicateName = decode.CodeDuplicateName
	CodeGraphCycle    = decode.CodeGraphCycle
	CodeMissingField  = decode.CodeMissingField
	CodeNoEffect      = decode.CodeNoEffect
	CodeNotARoute     = decode.CodeNotARoute
	CodeSelfReference = decode.CodeSelfReference
	CodeUnknownName   = decode.CodeUnknownName
	CodeUnknownRoute  = decode.CodeUnknownRoute
)
