//go:build !race

package raced

// Enabled is whether the race detector watches this process.
const Enabled = false
