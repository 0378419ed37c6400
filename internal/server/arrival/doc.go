// Package arrival is where requests come from: [Listener] bounds the connections, all and those of one address, and
// [Proxies] tells the address of a request, where a proxy that is believed has passed it on.
//
// It starts no goroutine. All of it may be used by any number of them.
package arrival
