// Package graphd is the daemon as a library: a streaming engine that keeps the newest
// state of every input of a computation graph and fires it the moment its criteria hold.
//
//	d, err := graphd.New(ctx, graphd.Config{Store: "memory:", Listen: "127.0.0.1:0"})
//	if err != nil { … }
//	err = d.Run(ctx) // until ctx ends; then everything stops at an epoch boundary
//
// A [Registry] holds Go functions that declarations name as nodes, sources and sinks. A
// [Declaration] can be run over files ([Declaration.Run]), and tested under virtual time
// ([Declaration.Simulate], [TestDeclaration]).
//
// # Concurrency
//
// Run owns everything the daemon starts and has joined it when it returns. All other
// methods may be called from any goroutine.
package graphd
