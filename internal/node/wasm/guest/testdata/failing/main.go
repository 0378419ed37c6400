// Command failing is a guest in Go whose functions fail, each in a way of its own.
package main

func main() {} // what is exported is called, and not this
