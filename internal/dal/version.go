package dal

import (
	"fmt"

	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/migrations"
)

// VersionAmong is the version by which the members of a store tell who reads what another one writes (M55). Builds that
// were told none, as from an exported tree, would all be the same: they are named after what they read.
func VersionAmong(version string) string {
	if version != "" && version != "devel" {
		return version
	}
	return fmt.Sprintf("devel+schema.%d.record.%d", migrations.PostgresSchema(), form.Format)
}
