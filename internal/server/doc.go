// Package server is the control plane's edge: REST and WebSocket over the
// interface [Control], which the engine implements. It knows HTTP, framing, limits
// and problem documents; what a graph is, it does not know.
//
// Start at [New] and [Server.Serve]; routes.go lists every route. A request goes
// through [Server.ServeHTTP] (panics, host, origin, access log), the router, and
// one handler that reads the request, calls one method of Control and writes the
// answer. Refusals are *api.Error values, turned into problem documents in
// one place, problem.go; push.go is the hot path. The package wire holds the JSON
// that REST and WebSocket have in common, the package socket serves the
// WebSocket connections. What goes over the wire is described in api/openapi.yaml and
// docs/websocket.md, and tests hold the three together.
//
// # Concurrency
//
// net/http runs one goroutine per REST request, joined by [Server.Shutdown]; the server
// starts none beside it. The goroutines of WebSocket connections are the package
// socket's, joined by Shutdown too.
package server
