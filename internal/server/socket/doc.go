// Package socket is the WebSocket side of the control plane: the connections that push
// events, and those that command a graph and watch it. What goes over them is described
// for users in docs/websocket.md.
//
// Start at [Hub]: it admits connections, serves each until it ends, and closes all of
// them. conn.go is one connection, push.go and watch.go are the two things it can be for.
//
// # Concurrency
//
// A connection has three goroutines. The reader is the goroutine of its HTTP handler:
// it reads frames and hands them to the endpoint. The writer sends acknowledgements, or
// what a subscription has. The keeper pings, and when the connection's context has ended
// it sends the close frame and closes the connection, which ends the reader. The reader
// joins the other two before the handler returns; [Hub.Join] waits for all handlers. What
// is watched for how it stands is looked at on a goroutine of its own, one for all who
// watch a graph, or all graphs of a tenant; [Hub.Join] ends and joins these as well.
//
// Backpressure goes through: an accumulator that is full holds the reader, the kernel's
// buffers fill, and the client's own writes block. A watcher is never waited for: its
// subscription skips what it is too slow for and says so in its place.
package socket
