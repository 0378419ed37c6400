// Package checkpointtest holds what tests of stores and of their users share: [Run],
// the suite that every implementation of [checkpoint.Store] must pass, and [Faulty],
// a store that fails by a script.
package checkpointtest
