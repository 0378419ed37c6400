// Command guest is a guest in Go: a function of values, in the file for WASI. Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags="-s -w" -o guest.wasm ./examples/wasm/go
package main

func main() {} // what is exported is called, and not this
