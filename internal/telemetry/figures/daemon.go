package figures

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/certificate"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/graphd/graphd/internal/trace"
)

// storeWithin bounds what a scrape waits for the store.
const storeWithin = 2 * time.Second

// Pinger is a store that can be asked whether it answers.
type Pinger interface {
	Ping(ctx context.Context) error
}

// OfGraphs reads all graphs, with what a tracer has told of them; nil is none.
func OfGraphs(ctx context.Context, e *engine.Engine, t *trace.Tracer) (list []telemetry.GraphMetrics) {
	for _, m := range e.Metrics(ctx) {
		exemplars := t.Exemplars(m.Summary.Tenant, m.Summary.Graph)
		list = append(list, OfGraph(&m, &exemplars))
	}
	return list
}

// OfCertificate reads the certificate that a daemon shows; nil is none.
func OfCertificate(k *certificate.Keeper) (telemetry.CertificateMetrics, bool) {
	if k == nil {
		return telemetry.CertificateMetrics{}, false
	}
	st := k.State()
	return telemetry.CertificateMetrics{Ends: st.Ends, Reloads: st.Reloads, Failures: st.Failures}, true
}

// OfDaemon asks the store of a daemon, and who is on it.
func OfDaemon(ctx context.Context, e *engine.Engine, store Pinger, t *audit.Trail) (m telemetry.DaemonMetrics) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	m.AuditUnwritable, m.AuditLost = t.Failures()
	all, err := e.ListMembers(ctx)
	if err == nil {
		err = store.Ping(ctx)
	}
	if err != nil {
		return m
	}
	m.StoreUp, m.Members = true, map[string]int{}
	for i := range all {
		m.Members[all[i].State]++
	}
	return m
}

// Refused is what limits have refused, by the code of the refusal: the server's, to which those of the engine are
// added.
func Refused(refused map[string]int64, e *engine.Engine) map[string]int64 {
	for code, n := range e.Refusals() {
		refused[code] += n
	}
	return refused
}
