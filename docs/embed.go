// Package docs holds the pages, so that the command line can quote them.
package docs

import "embed"

// Pages are the pages a user reads, by name.
//
//go:embed declaration.md kinds.md windows.md joins.md loops.md diagnostics.md expressions.md concepts.md operations.md
//go:embed codes.md keys.md lanes.md why.md
//go:embed scale.md members.md access.md tokens.md tls.md configuration.md audit.md
//go:embed websocket.md guarantees.md model.md embedding.md getting-started.md performance.md recipes.md
//go:embed kubernetes.md upgrade.md runbook.md sql.md wasm.md agents.md
var Pages embed.FS

// All are all pages, which a daemon serves.
//
//go:embed *.md
var All embed.FS
