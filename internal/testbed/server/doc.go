// Package server runs the real servers that tests need, PostgreSQL and Apache Kafka, as
// child processes on free ports of the loopback address, each in a directory of its own.
//
// PostgreSQL is the one installed on the machine. Kafka's jars are fetched by Maven once
// and kept in the user's cache directory. A server can be stopped, killed, paused and
// started again on the same ports and data, so that tests can do to it what happens to
// servers. Settings favour a fast start and little memory over durability against power
// cuts; what survives a killed process is as in production.
//
// # Concurrency
//
// A server has one goroutine, which waits for its process; Stop, Kill and Close join it.
// The methods of one server are called by one goroutine at a time.
package server
