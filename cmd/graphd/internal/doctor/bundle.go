package doctor

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

const (
	// mostGraphs and mostEvents bound what is told of recovery events.
	mostGraphs = 200
	mostEvents = 20
)

// graph is what a bundle tells of a graph: nothing that an author or a client has written but names.
type graph struct {
	Tenant       string       `json:"tenant"`
	Graph        string       `json:"graph"`
	Revision     int64        `json:"revision"`
	Incarnation  int64        `json:"incarnation"`
	Epoch        int64        `json:"epoch"`
	Health       string       `json:"health"`
	Reason       string       `json:"health_reason,omitempty"`
	Paused       bool         `json:"paused"`
	LastFired    *time.Time   `json:"last_fired_at"`
	Counters     api.Counters `json:"counters"`
	Cost         api.Cost     `json:"cost"`
	Accumulators []part       `json:"accumulators"`
	Outputs      []string     `json:"outputs"`
	Events       []event      `json:"recovery_events"`
}

type part struct {
	Name   string `json:"name"`
	Health string `json:"health"`
}

// event is a recovery event without its words: in these there may be what an event had in it.
type event struct {
	At          time.Time `json:"at"`
	Component   string    `json:"component"`
	Kind        string    `json:"kind"`
	Attempt     int       `json:"attempt"`
	Outcome     string    `json:"outcome"`
	Incarnation int64     `json:"incarnation"`
}

// host is what is known of the machine.
type host struct {
	System  string    `json:"system"`
	CPUs    int       `json:"cpus"`
	Version string    `json:"version"`
	Go      string    `json:"go"`
	At      time.Time `json:"at"`
}

// bundle writes everything into a new file, or none.
func (x *examination) bundle(ctx context.Context, path string, getenv func(string) string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return terminal.Exit(terminal.ExitConflict, fmt.Errorf("%s is there already; name a new file", path))
	}
	if err != nil {
		return fmt.Errorf("the bundle cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write the bundle: %w", err), os.Remove(path))
		}
	}()
	secrets := x.secrets(getenv)
	archive := zip.NewWriter(f)
	put := func(name string, text []byte) error {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write(secrets.hide(text))
		}
		return err
	}
	data := func(name string, value any, failed error) error {
		if failed != nil {
			value = map[string]string{"not_told": failed.Error()}
		}
		text, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		return put(name, append(text, '\n'))
	}
	err = errors.Join(
		data("doctor.json", x.report(), nil),
		data("configuration.json", x.settings(getenv), nil),
		data("host.json", host{System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
			Version: x.daemon.Version, Go: runtime.Version(), At: x.now().UTC()}, nil),
		x.tell(ctx, put, data), archive.Close(), f.Sync(), f.Close())
	return err
}

// tell puts in what the daemon tells of itself; what it does not tell is said to be missing.
func (x *examination) tell(ctx context.Context, put func(string, []byte) error,
	data func(string, any, error) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	version, failed := x.client.Version(ctx)
	err := data("version.json", version, failed)
	if failed != nil {
		return err // nobody answers
	}
	status, failed := x.client.Ready(ctx)
	err = errors.Join(err, data("health.json", status, failed))
	limits, failed := x.client.Limits(ctx)
	err = errors.Join(err, data("limits.json", limits, failed))
	members, failed := x.client.Members(ctx)
	err = errors.Join(err, data("members.json", members, failed))
	tree, failed := x.client.Tree(ctx)
	err = errors.Join(err, data("tree.json", tree, failed))
	metrics, failed := x.client.Metrics(ctx) // goroutines and the heap are among them
	if failed != nil {
		err = errors.Join(err, data("metrics.txt", nil, failed))
	} else {
		err = errors.Join(err, put("metrics.txt", metrics))
	}
	graphs, failed := x.graphs(ctx)
	return errors.Join(err, data("graphs.json", graphs, failed))
}

func (x *examination) graphs(ctx context.Context) ([]graph, error) {
	all, err := x.client.Graphs(ctx)
	if err != nil {
		return nil, err
	}
	list := []graph{}
	for i := range all {
		s := &all[i]
		g := graph{Tenant: s.Tenant, Graph: s.Graph, Revision: s.Revision, Incarnation: s.Incarnation, Epoch: s.Epoch,
			Health: s.Health, Paused: s.Paused, LastFired: s.LastFiredAt, Counters: s.Counters, Cost: s.Cost,
			Events: []event{}}
		if s.HealthReason != nil {
			g.Reason = s.HealthReason.Code
		}
		for k := range s.Accumulators {
			g.Accumulators = append(g.Accumulators, part{s.Accumulators[k].Name, s.Accumulators[k].Health})
		}
		for k := range s.Outputs {
			g.Outputs = append(g.Outputs, s.Outputs[k].Name)
		}
		if i < mostGraphs {
			page, err := x.client.RecoveryEvents(ctx, s.Graph, api.Query{Limit: mostEvents})
			if err != nil {
				return nil, err
			}
			for k := range page.Items {
				e := &page.Items[k]
				g.Events = append(g.Events, event{e.At, e.Component, e.Kind, e.Attempt, e.Outcome, e.Incarnation})
			}
		}
		list = append(list, g)
	}
	return list, nil
}
