package main

import (
	"net"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/doctor"
	"github.com/graphd/graphd/cmd/graphd/internal/remote"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func doctorCmd(t *terminal.Terminal, verbs *remote.Verbs) *cobra.Command {
	cmd := doctor.Command(t, verbs.OpenVerb, storeFlags, func(cmd *cobra.Command) doctor.Daemon {
		d := doctor.Daemon{Limit: cgroupLimit(), Version: buildVersion().Version}
		serve, c, err := daemonSettings(cmd, t.Getenv)
		d.Config, d.Flags, d.Err, d.Memory = c, serve.Flags(), err, serve.Flag(memoryFlag).Value.String()
		return d
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		serve, c, err := daemonSettings(cmd, t.Getenv)
		listen := serve.Flag("listen")
		if err != nil || listen.Value.String() == listen.DefValue || c.Listen == graphd.ListenNone ||
			cmd.Flags().Changed("server") || t.Getenv("GRAPHD_SERVER") != "" {
			return nil
		}
		return cmd.Flags().Set("server", addressOf(&c)) // the daemon of these settings, where no other is named
	}
	return cmd
}

// addressOf is where a daemon with these settings is reached from its own machine.
func addressOf(c *graphd.Config) string {
	scheme, host := "http://", c.Listen
	if c.TLSCert != "" {
		scheme = "https://"
	}
	if name, port, err := net.SplitHostPort(host); err == nil && (name == "" || net.ParseIP(name).IsUnspecified()) {
		host = net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + host
}

// daemonSettings are those that graphd serve would have with the flags of cmd, the environment and the file of
// --config. They are as far as they can be read where there is an error.
func daemonSettings(cmd *cobra.Command, getenv func(string) string) (*cobra.Command, graphd.Config, error) {
	c := &graphd.Config{}
	serve, err := fillServe(cmd, getenv, c)
	return serve, *c, err
}
