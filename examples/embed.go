// Package examples holds the example graphs, for the demo and for the tests that run them.
package examples

import "embed"

// Files are the example directories.
//
//go:embed market-maker/*.yaml edges/*.yaml flights/*.yaml airport-delays/*.yaml
//go:embed earthquakes/*.yaml weather/*.yaml two-graphs/*.yaml auctions/*.yaml one-cut/*.yaml
var Files embed.FS
