// Package telemetry is what the daemon says about itself to the outside: the log
// and the metrics.
//
// [NewLogger] makes the process's logger: readable lines on a terminal, JSON
// anywhere else. [NewRegistry] makes a Prometheus registry that asks a [Source]
// for plain figures at each scrape, and [Handler] serves it; nothing is counted
// here, and no package below knows of Prometheus. All metrics have the prefix
// graphd_ and base units; their labels come from declarations, never from data.
//
// The package starts no goroutine. A registry may be scraped concurrently, and
// then asks its Source concurrently.
package telemetry
