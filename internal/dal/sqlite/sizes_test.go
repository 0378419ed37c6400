package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/sizetest"
)

// What a tenant has in the store is told to the byte (A11).
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	sizetest.Test(t, open(t, filepath.Join(t.TempDir(), "graphd.db")))
}
