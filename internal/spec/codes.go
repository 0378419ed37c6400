package spec

// The codes of the diagnostics that [Parse] gives. They are stable: tools and
// tests may branch on them.
const (
	// CodeYAMLSyntax is text that is neither YAML nor JSON.
	CodeYAMLSyntax = "yaml_syntax"
	// CodeInvalidUTF8 is a byte that belongs to no UTF-8 character.
	CodeInvalidUTF8 = "invalid_utf8"
	// CodeEmptyDocument is a file with nothing in it.
	CodeEmptyDocument = "empty_document"
	// CodeSeveralDocuments is a second YAML document in one file.
	CodeSeveralDocuments = "several_documents"
	// CodeTooLarge is a document, key or resolved reference over its size limit.
	CodeTooLarge = "too_large"
	// CodeTooDeep is nesting over the limit.
	CodeTooDeep = "too_deep"
	// CodeTooMany is more accumulators, nodes or outputs than a graph may have.
	CodeTooMany = "too_many"
	// CodeTooManyErrors ends a list of diagnostics that was cut short.
	CodeTooManyErrors = "too_many_errors"
	// CodeAliasNotAllowed is a YAML anchor, alias or merge key.
	CodeAliasNotAllowed = "alias_not_allowed"
	// CodeTagNotAllowed is a YAML tag.
	CodeTagNotAllowed = "tag_not_allowed"

	// CodeUnknownField is a field that the declaration does not have.
	CodeUnknownField = "unknown_field"
	// CodeNotYetSupported is a field or value of the declaration that this version does not build (M47).
	CodeNotYetSupported = "not_yet_supported"
	// CodeDuplicateKey is a key given twice in one mapping.
	CodeDuplicateKey = "duplicate_key"
	// CodeMissingField is a required field that is not there.
	CodeMissingField = "missing_field"
	// CodeWrongType is a value of the wrong type.
	CodeWrongType = "wrong_type"
	// CodeEmptyValue is an empty text, list or mapping where something must stand.
	CodeEmptyValue = "empty_value"
	// CodeEmptyRoutes is a route node without routes.
	CodeEmptyRoutes = "empty_routes"
	// CodeBadValue is a word that is not one of those allowed.
	CodeBadValue = "bad_value"
	// CodeBadDuration is a text that is no duration.
	CodeBadDuration = "bad_duration"
	// CodeBadTimezone is a name that is no time zone.
	CodeBadTimezone = "bad_timezone"
	// CodeBadSchema is a JSON Schema that is not one.
	CodeBadSchema = "bad_schema"
	// CodeOutOfRange is a number or duration outside its bounds.
	CodeOutOfRange = "out_of_range"
	// CodeNotFinite is an infinite number or one that is no number.
	CodeNotFinite = "not_finite"

	// CodeBadName is a name that does not match [a-z][a-z0-9_]{0,63}.
	CodeBadName = "bad_name"
	// CodeReservedName is a name that expressions use for something else.
	CodeReservedName = "reserved_name"
	// CodeDuplicateName is a node named like an accumulator.
	CodeDuplicateName = "duplicate_name"
	// CodeDuplicateEntry is an entry given twice in one list.
	CodeDuplicateEntry = "duplicate_entry"
	// CodeDuplicateOutput is a second output that writes the same value to the same file.
	CodeDuplicateOutput = "duplicate_output"
	// CodeUnknownName is a reference to an accumulator or node that is not declared.
	CodeUnknownName = "unknown_name"
	// CodeUnknownRoute is a reference to a route that its node does not have.
	CodeUnknownRoute = "unknown_route"
	// CodeNotARoute is a route asked of a node that has none.
	CodeNotARoute = "not_a_route"
	// CodeSelfReference is a node that waits for itself.
	CodeSelfReference = "self_reference"

	// CodeSeveralKinds is more than one kind where exactly one is allowed.
	CodeSeveralKinds = "several_kinds"
	// CodeMissingKind is a node, source or sink that does not say what it is.
	CodeMissingKind = "missing_kind"
	// CodeConflict is two fields that contradict each other.
	CodeConflict = "conflict"
	// CodeNoFlushRule is a batch that would never be handed over.
	CodeNoFlushRule = "no_flush_rule"
	// CodePassiveSequential is an input that does not trigger, yet asks to be queued.
	CodePassiveSequential = "passive_sequential"
	// CodePassiveTrigger is an input that does not trigger, yet is named as a trigger.
	CodePassiveTrigger = "passive_trigger"
	// CodeNoTrigger is a graph that nothing can fire.
	CodeNoTrigger = "no_trigger"

	// CodeQuoteExpression is an expression that YAML reads as something else; it needs quotes.
	CodeQuoteExpression = "quote_expression"
	// CodeNotAllowed is a reference in an expression.
	CodeNotAllowed = "not_allowed"
	// CodeBadReference is a malformed ${…}.
	CodeBadReference = "bad_reference"
	// CodeUnsetVariable is a reference to what is not set and has no default.
	CodeUnsetVariable = "unset_variable"
	// CodeReferenceFailed is a reference that could not be read.
	CodeReferenceFailed = "reference_failed"
)
