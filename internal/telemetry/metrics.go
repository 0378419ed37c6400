package telemetry

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// maxScrapes bounds the scrapes served at one time: a scrape walks every graph, and
// two scrapers in a highly available pair plus a person with curl are three.
const maxScrapes = 4

const buildInfoHelp = "What the binary was made of; always 1."

// NewRegistry makes a registry of the daemon's metrics: what src answers at each
// scrape, what the binary was made of, and the Go runtime's and process's own.
func NewRegistry(src Source, build BuildInfo) (*prometheus.Registry, error) {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "graphd_build_info",
		Help: buildInfoHelp,
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

// Handler serves reg in the formats Prometheus reads: of the graphs that sees says yes to, or all
// there is where sees is nil. What cannot be collected is logged and left out; the rest is served.
func Handler(reg *prometheus.Registry, log *slog.Logger) func(sees func(tenant, graph string) bool) http.Handler {
	opts := promhttp.HandlerOpts{
		ErrorLog:            scrapeLog{log},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true, // where the scraper accepts it: exemplars are in that format alone
	}
	all := promhttp.HandlerFor(reg, opts)
	opts.MaxRequestsInFlight = 0 // it would count the requests of one handler, and there is one for each
	scrapes := make(chan struct{}, maxScrapes)
	return func(sees func(tenant, graph string) bool) http.Handler {
		if sees == nil {
			return all
		}
		some := promhttp.HandlerFor(only(reg, sees), opts)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case scrapes <- struct{}{}:
				defer func() { <-scrapes }()
				some.ServeHTTP(w, r)
			default:
				http.Error(w, "too many scrapes at one time; try again later", http.StatusServiceUnavailable)
			}
		})
	}
}

// only gathers what is of the graphs that sees says yes to, and what is of a tenant as a whole where that is so of a
// graph without a name. What is of no tenant is the daemon's, and left out.
func only(reg prometheus.Gatherer, sees func(tenant, graph string) bool) prometheus.GathererFunc {
	return func() ([]*dto.MetricFamily, error) {
		all, err := reg.Gather()
		return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
			f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool {
				var tenant, graph string
				for _, l := range m.Label {
					switch l.GetName() {
					case "tenant":
						tenant = l.GetValue()
					case "graph":
						graph = l.GetValue()
					}
				}
				return tenant == "" || !sees(tenant, graph)
			})
			return len(f.Metric) == 0
		}), err
	}
}

// scrapeLog is the logger that promhttp asks for.
type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) { l.log.Error("collect metrics", "err", fmt.Sprint(v...)) }
