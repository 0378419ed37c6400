// Package forward brings requests about a graph to the member that runs it (M53). Start at [Members].
//
// Members know each other by a secret that all of them have been given in a file: from it follows the key of an
// authority which each makes for itself, and by which it certifies a key that its process alone has. So a connection
// between two is TLS 1.3 with certificates on both ends, and whoever answers is the member that was meant. Over it go
// requests, with whom they act as; what has come over it goes no further.
package forward
