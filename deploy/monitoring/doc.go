// Package monitoring makes, of what internal/telemetry describes, what Prometheus and Grafana are given: rules with an
// alert for all that somebody has to act on, a test of promtool's for each, and a dashboard that shows every metric.
//
//	make monitoring     # deploy/prometheus and deploy/grafana
//
// Start at [Alerts] and [Files]. A test holds that what is committed is what would be made, that no query names a
// metric or a label that is not there, and that every alert leads to its words in docs/runbook.md.
package monitoring
