package spec

import "github.com/graphd/graphd/internal/spec/decode"

// The codes of [decode] that later checks of a declaration give too.
const (
	CodeBadValue      = decode.CodeBadValue
	CodeCannotShard   = decode.CodeCannotShard
	CodeDenied        = decode.CodeDenied
	CodeDuplicateName = decode.CodeDuplicateName
	CodeGraphCycle    = decode.CodeGraphCycle
	CodeMissingField  = decode.CodeMissingField
	CodeNotARoute     = decode.CodeNotARoute
	CodeSelfReference = decode.CodeSelfReference
	CodeUnknownName   = decode.CodeUnknownName
	CodeUnknownRoute  = decode.CodeUnknownRoute
)
