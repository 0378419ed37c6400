package decode

import "github.com/graphd/graphd/internal/api"

// Diagnostic is one mistake in a declaration. It goes over the wire as it is.
type Diagnostic = api.Diagnostic

// Diagnostics is a declaration's mistakes in the order of the document. It is
// an error when it is not empty; use [Diagnostics.Err] to turn it into one.
type Diagnostics = api.Diagnostics
