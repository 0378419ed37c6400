//go:build !planted

package graphd

import "github.com/graphd/graphd/internal/checkpoint"

// planted is the store as it is. The kill tests build a daemon with the tag planted, in which
// it is spoilt: they must find that.
func planted(s checkpoint.Store) checkpoint.Store { return s }
