package main

import (
	"fmt"
	"strings"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/examples"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

// The example that the demo runs.
const (
	demoFile  = "market-maker/market_maker.yaml"
	demoGraph = "market_maker"
)

func demoCmd(t *terminal.Terminal) *cobra.Command {
	c := graphd.Config{Store: "memory:"}
	log := telemetry.LogConfig{Level: "warn"}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the daemon with a built-in example and live data, in memory",
		Args:  terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc, err := examples.Files.ReadFile(demoFile)
			if err != nil {
				return fmt.Errorf("read the built-in example: %w", err)
			}
			c.Declarations = map[string][]byte{demoFile: doc}
			return serve(cmd.Context(), t, c, log, func(addr string) { whatToTry(t, addr) })
		},
	}
	cmd.Flags().StringVar(&c.Listen, "listen", "127.0.0.1:8080", "address of the control plane; port 0 picks one")
	mcpFlag(cmd.Flags(), &c)
	cmd.Flags().StringVar(&log.Level, "log-level", log.Level, "debug, info, warn or error")
	return cmd
}

// whatToTry tells a newcomer what there is to see.
func whatToTry(t *terminal.Terminal, addr string) {
	server := ""
	if addr != "127.0.0.1:8080" {
		server = " --server http://" + addr
	}
	text := `The graph MM quotes an edge when its order book and its model disagree, several
times a second, on made-up data. Watch it at http://ADDR/

In another terminal, try:

  graphdSERVER get                      what runs
  graphdSERVER firings MM     what fired, and with an epoch's number: why
  graphdSERVER tail MM        what comes out, as it does
  graphdSERVER describe MM    everything about it
  graphdSERVER push MM limits - <<< '{"threshold": 0.4}'
  graphdSERVER fire MM        fire it by hand; also pause, step, resume
  curl -s http://ADDR/v1/graphs/MM    or ws://ADDR/v1/ws/graphs/MM/reactor
Ctrl-C ends it, and with it everything it held.
`
	text = strings.NewReplacer("SERVER", server, "ADDR", addr, "MM", demoGraph).Replace(text)
	for line := range strings.Lines(text) {
		t.Say("%s", strings.TrimRight(line, "\n"))
	}
}
