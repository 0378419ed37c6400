// Package clients has others than graphd's own program use the API: schemathesis, which makes requests up from the
// OpenAPI document, and clients in other languages that are generated from it. The daemon is the real binary, in a
// process of its own.
//
// What the tests need beside Go they install themselves, at pinned versions, in the user's cache directory. Where
// Python or Node.js is not installed, or their registries cannot be reached, they are skipped and say so; with
// GRAPHD_TEST_REQUIRE set that is a failure.
package clients
