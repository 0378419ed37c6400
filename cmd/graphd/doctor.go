package main

import (
	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/doctor"
	"github.com/graphd/graphd/cmd/graphd/internal/remote"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func doctorCmd(t *terminal.Terminal, verbs *remote.Verbs) *cobra.Command {
	return doctor.Command(t, verbs.OpenVerb, storeFlags, func(cmd *cobra.Command) doctor.Daemon {
		d := doctor.Daemon{Limit: cgroupLimit(), Version: buildVersion().Version}
		serve, c, err := daemonSettings(cmd, t.Getenv)
		d.Config, d.Flags, d.Err, d.Memory = c, serve.Flags(), err, serve.Flag(memoryFlag).Value.String()
		return d
	})
}

// daemonSettings are those that graphd serve would have with the flags of cmd, the environment and the file of
// --config. They are as far as they can be read where there is an error.
func daemonSettings(cmd *cobra.Command, getenv func(string) string) (*cobra.Command, graphd.Config, error) {
	c := &graphd.Config{}
	serve, err := fillServe(cmd, getenv, c)
	return serve, *c, err
}
