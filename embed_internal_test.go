package graphd

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
	"github.com/graphd/graphd/internal/source/sourcetest"
)

// A registered function does as a source what every source does.
func TestSourceFuncConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Suite{
		Events: 30,
		New: func(*testing.T) accumulator.Source {
			return goSource(func(_ context.Context, after int64, out *Events) error {
				for n := after + 1; n <= 30; n++ {
					if err := out.Send(n, map[string]any{"n": n}); err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
}

// A registered function does as a sink what every sink does.
func TestSinkFuncConformance(t *testing.T) {
	sinktest.Run(t, func(*testing.T) sinktest.Place {
		var mu sync.Mutex
		var got []sinktest.Arrival
		deliver := func(_ context.Context, batch []Message) error {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range batch {
				key, err := json.Marshal(m.Key)
				if err != nil {
					return err
				}
				v, err := toValue(m.Value)
				if err != nil {
					return fmt.Errorf("%T: %w", m.Value, err)
				}
				got = append(got, sinktest.Arrival{
					Epoch: m.Epoch, Key: key, Output: m.Output, Value: v.AppendJSON(nil),
				})
			}
			return nil
		}
		return sinktest.Place{
			Open: func(*testing.T) sink.Sink { return goSink(deliver) },
			Arrived: func(*testing.T) []sinktest.Arrival {
				mu.Lock()
				defer mu.Unlock()
				return append([]sinktest.Arrival(nil), got...)
			},
		}
	})
}
