package drop_test

import (
	"testing"

	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/drop"
	"github.com/graphd/graphd/internal/sink/sinktest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, func(*testing.T) sinktest.Place {
		return sinktest.Place{Open: func(*testing.T) sink.Sink { return drop.Sink{} }}
	})
}
