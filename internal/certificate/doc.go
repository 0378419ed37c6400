// Package certificate keeps the certificate that the daemon shows and the authorities that its clients'
// certificates are of, and says whom a client's certificate stands for.
//
// Start at [New]. A [Keeper] reads its files again when somebody connects or asks how it stands, once a second
// at most, and compares what is in them: a file that was written anew, one that was put in its place and a link
// that leads elsewhere, as those of Kubernetes do, are seen alike. What cannot be used leaves what there was.
//
// # Concurrency
//
// The package starts no goroutine. A Keeper may be used by any number of them; one reads at a time, and the
// others go on with what there is.
package certificate
