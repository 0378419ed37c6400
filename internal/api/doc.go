// Package api holds what crosses the wire: the requests, answers, frames and errors of REST
// and WebSocket, as Go values with the JSON that users rely on. The server, the client and
// the command line share it, so that none of them has to know how the engine works; it imports
// the standard library alone, and decides nothing.
//
// A field's JSON name and meaning are a promise: api/openapi.yaml describes them, and a test
// holds the two together. A new field is added with its description there; none is renamed.
//
// Where to look: a graph as an operator sees it is in graph.go, an epoch in firing.go, what is
// sent to a graph in command.go and push.go, what watchers get in frame.go, and every refusal,
// with its stable code, in error.go and codes.go.
package api
