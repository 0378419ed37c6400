// Package access says who may do what: roles and the permissions they give, the principal that
// a request acts as, and the tokens that make a caller one. It is pure: no clock, no store and no
// network; those who come in are looked up by package gate.
//
// Start at [Principal]. What must not be had without a permission is wrapped by [Needs]: a [Guard]
// gives it to a principal that may, and to nobody else.
package access
