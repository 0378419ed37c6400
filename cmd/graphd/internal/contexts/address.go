package contexts

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// address is a server as a URL: host:port is one over HTTP, and :port is on this machine.
func address(server string) (string, error) {
	given := server
	if !strings.Contains(server, "://") {
		if strings.HasPrefix(server, ":") { // as of --listen
			server = "127.0.0.1" + server
		}
		server = "http://" + server
	}
	for socket, plain := range map[string]string{"ws://": "http://", "wss://": "https://"} {
		if rest, ok := strings.CutPrefix(server, socket); ok { // the same daemon
			server = plain + rest
		}
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", terminal.Exit(terminal.ExitUsage, fmt.Errorf(
			"the server %q is not of the form host:port, http://host:port or https://host:port", given))
	}
	return strings.TrimSuffix(server, "/"), nil
}

// Agent is what a daemon is told of who calls: the program, and the person where that is known.
func Agent(getenv func(string) string) string {
	if user := getenv("USER"); user != "" {
		return "graphd (" + user + ")"
	}
	return "graphd"
}
