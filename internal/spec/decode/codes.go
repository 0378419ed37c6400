package decode

// The codes of the diagnostics that [Parse] gives. They are stable: tools and
// tests may branch on them.
const (
	CodeYAMLSyntax       = "yaml_syntax"       // text that is neither YAML nor JSON
	CodeInvalidUTF8      = "invalid_utf8"      // a byte that belongs to no UTF-8 character
	CodeEmptyDocument    = "empty_document"    // a file with nothing in it
	CodeSeveralDocuments = "several_documents" // a second YAML document in one file
	CodeTooLarge         = "too_large"         // a document, key or resolved reference over its size limit
	CodeTooDeep          = "too_deep"          // nesting over the limit
	CodeTooMany          = "too_many"          // more accumulators, nodes or outputs than a graph may have
	CodeTooManyErrors    = "too_many_errors"   // ends a list of diagnostics that was cut short
	CodeAliasNotAllowed  = "alias_not_allowed" // an alias within its own anchor, or a merge key of what is no mapping
	CodeBadInclude       = "bad_include"       // an include that cannot be followed
	CodeTagNotAllowed    = "tag_not_allowed"   // a YAML tag

	CodeUnknownField    = "unknown_field"     // a field that the declaration does not have
	CodeNotYetSupported = "not_yet_supported" // a field or value that this version does not build (M47)
	CodeDuplicateKey    = "duplicate_key"     // a key given twice in one mapping
	CodeMissingField    = "missing_field"     // a required field that is not there
	CodeWrongType       = "wrong_type"        // a value of the wrong type
	CodeEmptyValue      = "empty_value"       // an empty text, list or mapping where something must stand
	CodeEmptyRoutes     = "empty_routes"      // a route node without routes
	CodeBadValue        = "bad_value"         // a word that is not one of those allowed
	CodeBadDuration     = "bad_duration"      // a text that is no duration
	CodeBadTimezone     = "bad_timezone"      // a name that is no time zone
	CodeBadSchema       = "bad_schema"        // a JSON Schema that is not one
	CodeOutOfRange      = "out_of_range"      // a number or duration outside its bounds
	CodeNotFinite       = "not_finite"        // an infinite number or one that is no number

	CodeBadName         = "bad_name"         // a name that does not match [a-z][a-z0-9_]{0,63}
	CodeReservedName    = "reserved_name"    // a name that expressions use for something else
	CodeDuplicateName   = "duplicate_name"   // a node named like an accumulator
	CodeDuplicateEntry  = "duplicate_entry"  // an entry given twice in one list
	CodeDuplicateOutput = "duplicate_output" // a second output that writes the same value to the same file
	CodeNoOutbox        = "no_outbox"        // an outbox where nothing is delivered, or nothing kept
	CodeUnknownName     = "unknown_name"     // a reference to an accumulator or node that is not declared
	CodeUnknownRoute    = "unknown_route"    // a reference to a route that its node does not have
	CodeNotARoute       = "not_a_route"      // a route asked of a node that has none
	CodeSelfReference   = "self_reference"   // a node that waits for itself
	CodeGraphCycle      = "graph_cycle"      // graphs that feed each other in a cycle

	CodeSeveralKinds      = "several_kinds"      // more than one kind where exactly one is allowed
	CodeMissingKind       = "missing_kind"       // a node, source or sink that does not say what it is
	CodeConflict          = "conflict"           // two fields that contradict each other
	CodeNoEffect          = "no_effect"          // a field that can never do anything where it stands
	CodeNoFlushRule       = "no_flush_rule"      // a batch that would never be handed over
	CodePassiveSequential = "passive_sequential" // an input that does not trigger, yet asks to be queued
	CodePassiveTrigger    = "passive_trigger"    // an input that does not trigger, yet is named as a trigger
	CodeNoTrigger         = "no_trigger"         // a graph that nothing can fire
	CodeNoKey             = "no_key"             // an input without a key in a keyed graph, or keys without one
	CodeKeyParts          = "key_parts"          // keys made of different numbers of values
	CodeCannotShard       = "cannot_shard"       // an input whose events do not tell which shard they belong to

	CodeQuoteExpression = "quote_expression" // an expression that YAML reads as something else; it needs quotes
	CodeNotAllowed      = "not_allowed"      // a reference in an expression
	CodeBadReference    = "bad_reference"    // a malformed ${…}
	CodeUnsetVariable   = "unset_variable"   // a reference to what is not set and has no default
	CodeReferenceFailed = "reference_failed" // a reference that could not be read
	CodeSecretMisplaced = "secret_misplaced" // a secret where it could be shown
	CodeDenied          = "denied"           // what may not be reached
)
