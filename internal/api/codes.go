package api

// ProblemType is what a code is appended to for the type of a problem document: a name, nothing to fetch.
const ProblemType = "urn:graphd:problem:"

// The codes of the server's own refusals. They are stable; the engine adds its own
// (graph_not_found and the like). api/openapi.yaml lists all of them.
const (
	CodeNotFound            = "not_found"
	CodeMethodNotAllowed    = "method_not_allowed"
	CodeGraphNotFound       = "graph_not_found"
	CodeAccumulatorNotFound = "accumulator_not_found"
	CodeDeadLetterNotFound  = "dead_letter_not_found"
	CodeInvalidName         = "invalid_name"
	CodeInvalidTenant       = "invalid_tenant"
	CodeInvalidParameter    = "invalid_parameter"
	CodeUnknownParameter    = "unknown_parameter"
	CodeInvalidBody         = "invalid_body"
	CodeInvalidJSON         = "invalid_json"
	CodeInvalidUTF8         = "invalid_utf8"
	CodeDuplicateKey        = "duplicate_key"
	CodeTooDeep             = "too_deep"
	CodeTooLarge            = "too_large"
	CodeNumberOutOfRange    = "number_out_of_range"
	CodeIncompleteBody      = "incomplete_body"
	CodeInvalidEncoding     = "invalid_encoding"
	CodeUnsupportedEncoding = "unsupported_encoding"
	CodeAllRejected         = "all_rejected"
	CodeQueueFull           = "queue_full"
	CodeRevisionConflict    = "revision_conflict"
	CodeStateChoice         = "state_choice_required"
	CodeIdempotencyKey      = "invalid_idempotency_key"
	CodeIdempotencyMismatch = "idempotency_mismatch"
	CodeIdempotencyBusy     = "idempotency_in_progress"
	CodeUnauthenticated     = "unauthenticated"
	CodeInvalidToken        = "invalid_token"
	CodeInvalidTicket       = "invalid_ticket"
	CodeForbidden           = "forbidden"
	CodeTenantNotFound      = "tenant_not_found"
	CodeTokenNotFound       = "token_not_found"
	CodeTokensUnreadable    = "tokens_unreadable"
	CodeIssuerUnreachable   = "issuer_unreachable"
	CodeTooManyTickets      = "too_many_tickets"
	CodeFirstToken          = "first_token"
	CodeCrossOrigin         = "cross_origin"
	CodeMisdirected         = "misdirected_request"
	CodeUpgradeRequired     = "upgrade_required"
	CodeSubprotocol         = "subprotocol_required"
	CodeTooManyConnections  = "too_many_connections"
	CodeBusy                = "busy"
	CodeNotReady            = "not_ready"
	CodeShuttingDown        = "shutting_down"
	CodeTimeout             = "timeout"
	CodeInternal            = "internal"
)

// The codes that only error frames have.
const (
	CodeInvalidFrame   = "invalid_frame"
	CodeUnknownType    = "unknown_type"
	CodeUnknownCommand = "unknown_command"
	CodeUnknownTopic   = "unknown_topic"
	CodeGraphEnded     = "graph_ended"
)
