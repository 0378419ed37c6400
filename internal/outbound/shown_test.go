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

func TestCheckHostPort(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{"h:9": true, "[::1]:9": true, "10.0.0.1:65535": true, "h": false,
		"h:": false, "h:0": false, "h:65536": false, ":9": false, "u:p@h:9": false, "kafka://h:9": false} {
		if err := CheckHostPort(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
