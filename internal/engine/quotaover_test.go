package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
)

// A11: daemons that do not know yet of each other's graphs hold a tenant to one quota all the same, and to it alone.
func TestA11QuotaOverDaemons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared()
		limits := map[string]quota.Limits{"default": {Graphs: 2}}
		open := func(name string) *bed {
			v := s.view(name)
			e := New(Config{Store: v, Kinds: &scripted{source: func(string) accumulator.Source { return nil }},
				Log: slog.New(slog.DiscardHandler), Quotas: quota.NewBook(limits)})
			if err := e.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			return &bed{t, e, v}
		}
		a, b := open("a"), open("b")
		put := func(at *bed, name string) error {
			_, err := at.e.Apply(t.Context(), api.Ref{Tenant: "default", Name: name},
				fmt.Appendf(nil, placed, name), api.Change{})
			return err
		}
		if err := errors.Join(put(a, "g"), put(b, "h")); err != nil {
			t.Fatal(err)
		}
		refused := refusalOf(put(a, "i")) // where only one is known of
		if refused == nil || refused.Code != api.CodeQuotaExceeded || refused.Status != 409 ||
			refused.Extra["used"] != 2 {
			t.Errorf("%+v", refused)
		}
		if uses := a.e.cfg.Quotas.Uses("default"); uses[0].Refused != 1 || uses[0].Used > 2 {
			t.Errorf("%+v", uses)
		}
		if err := put(b, "h"); err != nil {
			t.Error(err)
		}
		b.close()
		a.close()
	})
}
