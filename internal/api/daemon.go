package api

import "time"

// Status is the answer of the health routes.
type Status struct {
	Status string `json:"status"` // "ok" or "ready"
	// Uptime is the time since the start in seconds; GET /livez does not say it.
	Uptime float64 `json:"uptime_seconds,omitempty"`
	// Warnings are what is to be looked after although the daemon takes work.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Warning is something that will be trouble when nobody looks after it.
type Warning struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Version is the answer of GET /version; the fields of a build that was not told are "".
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Go      string `json:"go,omitempty"`
}

// TreeNode is one line of the live task tree (M34).
type TreeNode struct {
	Path     string    `json:"path"` // "graphd/default/market_maker/accumulator/orderbook"
	State    string    `json:"state"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since"`
}

// Limit is one bound of the daemon with its use.
type Limit struct {
	Name  string `json:"name"`
	Limit int64  `json:"limit"`
	Used  *int64 `json:"used"` // null where use is not a running figure
	Unit  string `json:"unit"`
	// Since is since when it has held something back all the time; left out while it does not. Quotas tell it.
	Since *time.Time `json:"holds_since,omitempty"`
}

// The codes of warnings.
const (
	WarnCertificateEnds       = "certificate_ends"
	WarnCertificateUnreadable = "certificate_unreadable"
	WarnIssuerUnreachable     = CodeIssuerUnreachable
	WarnGraphsNotTaken        = "graphs_not_taken"
	WarnSchemaRaised          = "schema_raised"
)
