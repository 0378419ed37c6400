package library

import (
	"strings"
	"testing"
)

// What a message shows of a function is a call with as many arguments as it takes.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		f := Table()[name]
		shown := Usage(f)
		args, ok := strings.CutPrefix(shown, name+"(")
		args, closed := strings.CutSuffix(args, ")")
		if !ok || !closed {
			t.Errorf("%s is shown as %s", name, shown)
			continue
		}
		needed, _, _ := strings.Cut(args, "[")
		least, most := f.Arguments()
		if strings.HasPrefix(name, ".") {
			least, most = least-1, most-1
		}
		if most > 100 {
			if !strings.HasSuffix(args, ", …") {
				t.Errorf("%s takes any number of arguments, and is shown as %s", name, shown)
			}
			continue
		}
		if got := countArgs(needed); got != least {
			t.Errorf("%s takes at least %d arguments, and is shown as %s", name, least, shown)
		}
		if got := countArgs(strings.NewReplacer("[", "", "]", "").Replace(args)); got != most {
			t.Errorf("%s takes at most %d arguments, and is shown as %s", name, most, shown)
		}
	}
	for _, u := range usages {
		if name, _, _ := strings.Cut(u, "("); Table()[name] == nil {
			t.Errorf("%s is of a function that there is not", u)
		}
	}
}

func countArgs(args string) int {
	if strings.TrimSpace(args) == "" {
		return 0
	}
	return strings.Count(args, ",") + 1
}
