package telemetry

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds the scrapes served at one time: a scrape walks every graph, and
// two scrapers in a highly available pair plus a person with curl are three.
const maxScrapes = 4

// NewRegistry makes a registry of the daemon's metrics: what src answers at each
// scrape, what the binary was made of, and the Go runtime's and process's own.
func NewRegistry(src Source, build BuildInfo) (*prometheus.Registry, error) {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "graphd_build_info",
		Help: "What the binary was made of; always 1.",
		ConstLabels: prometheus.Labels{
			"version": build.Version, "revision": build.Revision, "goversion": build.GoVersion,
		},
	})
	info.Set(1)
	for _, c := range []prometheus.Collector{
		info,
		newCollector(src),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return reg, nil
}

// Handler serves reg in the formats Prometheus reads. What cannot be collected is
// logged and left out; the rest is served.
func Handler(reg *prometheus.Registry, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            scrapeLog{log},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}

// scrapeLog is the logger that promhttp asks for.
type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) { l.log.Error("collect metrics", "err", fmt.Sprint(v...)) }
