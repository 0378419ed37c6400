package outbound

import "testing"

func TestShown(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://u:p@h:1/x?key=p": "https://…@h:1/x",
		"u:p@h:9":                 "…@h:9",
		"u:p@x@h:9":               "…@…@h:9",
		"h:9":                     "h:9",
		"":                        "",
	} {
		if got := Shown(address); got != want {
			t.Errorf("%s is shown as %s", address, got)
		}
	}
}
