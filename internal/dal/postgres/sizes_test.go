package postgres

import (
	"testing"

	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/sizetest"
	"github.com/graphd/graphd/internal/testbed"
)

// What a tenant has in the store is told to the byte (A11).
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	sizetest.Test(t, open(t, testbed.Postgres(t), schemaName()))
}
