// Command release makes what is published of a release: for each platform an archive with the binary, its
// completions and the licences of all that is in it, an SBOM (CycloneDX) read from that binary, and SHA256SUMS.
//
//	make release                                  # bin/release, of the commit that is checked out
//	go run ./deploy/release -to DIR -for linux/amd64
//
// The same commit, Go release and platform give the same bytes, in whatever folder and whenever: paths are trimmed,
// times are that of the commit, the order is that of names, and everything is packed by Go's own packages.
// `make release-check` builds twice, with nothing in common, and compares.
package main
