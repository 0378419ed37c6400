// Package web holds the page that the daemon serves: an index, modules of our own in app, which browsers read as they
// stand here, and in vendor one module of what they use of others', which `make web` bundles. Nothing is needed to
// build the daemon but what is checked in.
package web

import "embed"

// Files are the page's.
//
//go:embed index.html app vendor/vendor.js vendor/vendor.css vendor/LICENSES.txt
var Files embed.FS
