// Package issuer believes one issuer of OpenID Connect: it says whom a token stands for that the issuer has signed,
// and what the configuration gives to the claims in it.
//
// Start at [New]. [Issuer.Run] asks the issuer for its keys, and is the only one to: [Issuer.Whose] looks at a token
// with the keys that are known, and at most has Run ask again for one that is not. So an issuer that is away costs
// its own callers alone, and a flood of tokens with keys that nobody knows is one question in ten seconds.
//
// # Concurrency
//
// The package starts no goroutine; Run is one of its caller's. All methods may be used by any number of them.
package issuer
