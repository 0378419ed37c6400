// Package docs holds the pages, so that the command line can quote them.
package docs

import "embed"

// Pages are the pages a user reads, by name.
//
//go:embed declaration.md kinds.md windows.md diagnostics.md expressions.md concepts.md operations.md
var Pages embed.FS
