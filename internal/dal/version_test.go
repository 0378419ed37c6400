package dal

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/migrations"
)

// M55: members tell releases apart by their versions, and builds that were told none by what they read.
func TestM55VersionAmongMembers(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "devel": "", "": ""} {
		if want == "" {
			want = fmt.Sprintf("devel+schema.%d.record.%d", migrations.PostgresSchema(), form.Format)
		}
		if got := VersionAmong(version); got != want {
			t.Errorf("%q is %q among the members, want %q", version, got, want)
		}
	}
	if n := migrations.PostgresSchema(); n < 13 {
		t.Errorf("the schema is %d", n)
	}
}
