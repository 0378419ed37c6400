package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// shared is a store that several daemons share, each by a view of its own.
type shared struct {
	store *memstore.Store

	mu       sync.Mutex
	expires  map[string]time.Time // leases, by owner
	owners   map[checkpoint.ID]string
	fences   map[checkpoint.ID]int64
	declared int64
	deaf     []chan struct{} // who listens, one place each
	capacity map[string]int  // of members
	leaving  map[string]bool
	drained  map[string]bool
	claims   map[string]string // owners, by what they claim
	dealers  map[checkpoint.ID]string
}

func newShared() *shared {
	return &shared{store: memstore.New(), expires: map[string]time.Time{}, owners: map[checkpoint.ID]string{},
		fences:   map[checkpoint.ID]int64{},
		declared: 1, capacity: map[string]int{}, leaving: map[string]bool{}, drained: map[string]bool{},
		claims: map[string]string{}, dealers: map[checkpoint.ID]string{}}
}

func (s *shared) tell() {
	for _, c := range s.deaf {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// view is the store as one daemon sees it.
type view struct {
	*memstore.Store
	s    *shared
	name string
	hear chan struct{}

	mu      sync.Mutex
	terms   int
	owner   string
	claimed func()        // called once when a claim was granted
	cut     bool          // the network is gone: every call fails
	slow    time.Duration // how long a renewal's answer is on its way
}

func (s *shared) view(name string) *view {
	v := &view{Store: s.store, s: s, name: name, hear: make(chan struct{}, 1)}
	s.deaf = append(s.deaf, v.hear)
	return v
}

var errCut = errors.New("no route to the database")

func (v *view) set(cut bool, slow time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cut, v.slow = cut, slow
}

func (v *view) reach() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cut {
		return errCut
	}
	return nil
}

func (v *view) me() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.owner
}

func (v *view) RenewLease(ctx context.Context, ttl time.Duration) (checkpoint.Lease, error) {
	if err := v.reach(); err != nil {
		return checkpoint.Lease{}, err
	}
	lease, err := v.renew(ttl)
	v.mu.Lock()
	slow := v.slow
	v.mu.Unlock()
	if slow > 0 {
		time.Sleep(slow) // virtual; the caller's context is not heard, as in a process that was stopped
	}
	return lease, err
}

func (v *view) renew(ttl time.Duration) (checkpoint.Lease, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if v.owner == "" {
		v.terms++
		v.owner = fmt.Sprintf("%s/%d", v.name, v.terms)
		s.expires[v.owner] = now
	}
	if _, ok := s.expires[v.owner]; !ok {
		v.owner = ""
		return checkpoint.Lease{}, checkpoint.ErrLeaseLost
	}
	s.expires[v.owner] = now.Add(ttl)
	maps.DeleteFunc(s.expires, func(owner string, at time.Time) bool { return owner != v.owner && !at.After(now) })
	return checkpoint.Lease{Declarations: s.declared}, nil
}

func (v *view) Self() string { return v.name }

func (v *view) Roster(context.Context) (checkpoint.Roster, error) {
	r := checkpoint.Roster{Owners: map[checkpoint.ID]string{}}
	if err := v.reach(); err != nil {
		return r, err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	r.Declarations = v.s.declared
	for owner, at := range v.s.expires {
		name, _, _ := strings.Cut(owner, "/")
		r.Members = append(r.Members, checkpoint.Member{ID: name, Name: owner, Address: name + ".example:8080",
			Peer:     name,
			Capacity: v.s.capacity[name], Leaving: v.s.leaving[name], Drained: v.s.drained[name],
			Expired: !at.After(time.Now())})
	}
	r.Dealers = map[checkpoint.ID]string{}
	for id, owner := range v.s.dealers {
		if _, alive := v.s.expires[owner]; alive {
			r.Dealers[id], _, _ = strings.Cut(owner, "/")
		}
	}
	for id, owner := range v.s.owners {
		if _, alive := v.s.expires[owner]; alive {
			name, _, _ := strings.Cut(owner, "/")
			r.Owners[id] = name
		}
	}
	return r, nil
}

// owned is what is somebody's.
func (s *shared) owned() map[checkpoint.ID]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.owners)
}

// drain drains a member, or ends that.
func (s *shared) drain(member string, drained bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drained[member] = drained
	s.tell()
}

func (v *view) Leave(context.Context) error {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.s.leaving[v.name] = true
	v.s.tell()
	return nil
}

func (v *view) Yield(_ context.Context, id checkpoint.ID, fence int64) error {
	me := v.me()
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.s.owners[id] == me && v.s.fences[id] == fence {
		delete(v.s.owners, id)
		v.s.tell()
	}
	return nil
}

func (v *view) AwaitChange(ctx context.Context) error {
	select {
	case <-v.hear:
		return v.reach()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (v *view) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	if err := v.reach(); err != nil {
		return checkpoint.Head{}, err
	}
	me := v.me()
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	owner := v.s.owners[id]
	if _, alive := v.s.expires[owner]; alive && owner != me {
		name, _, _ := strings.Cut(owner, "/")
		return checkpoint.Head{}, &checkpoint.OwnedError{Owner: owner, Member: name}
	}
	head, err := v.Store.Acquire(ctx, id)
	if err == nil {
		v.s.owners[id], v.s.fences[id] = me, head.Fence
	}
	return head, err
}

func (v *view) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if err := v.reach(); err != nil {
		return err
	}
	return v.Store.Commit(ctx, c)
}

func (v *view) AddRecoveryEvent(ctx context.Context, id checkpoint.ID, ev checkpoint.RecoveryEvent) error {
	if err := v.reach(); err != nil {
		return err
	}
	return v.Store.AddRecoveryEvent(ctx, id, ev)
}

func (v *view) PutDeclaration(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (int64, error) {
	defer v.announce()
	return v.Store.PutDeclaration(ctx, d, ifRevision)
}

func (v *view) Redeal(ctx context.Context, r *checkpoint.Redeal) (int64, error) {
	defer v.announce()
	return v.Store.Redeal(ctx, r)
}

func (v *view) DeleteDeclaration(ctx context.Context, id checkpoint.ID, state bool) error {
	defer v.announce()
	return v.Store.DeleteDeclaration(ctx, id, state)
}

func (v *view) announce() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.s.declared++
	v.s.tell()
}

func (v *view) Claim(_ context.Context, id checkpoint.ID, claim string) (bool, error) {
	if err := v.reach(); err != nil {
		return false, err
	}
	v.mu.Lock()
	me := v.owner
	if v.claimed != nil {
		defer v.claimed()
		v.claimed = nil
	}
	v.mu.Unlock()
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	name := id.String() + " " + claim
	if _, alive := v.s.expires[v.s.claims[name]]; me == "" || alive && v.s.claims[name] != me {
		return false, nil
	}
	v.s.claims[name] = me
	if claim == checkpoint.ClaimDeal {
		v.s.dealers[id] = me
	}
	v.s.tell()
	return true, nil
}

func (v *view) Disclaim(_ context.Context, id checkpoint.ID, claim string) error {
	if err := v.reach(); err != nil {
		return err
	}
	v.mu.Lock()
	me := v.owner
	v.mu.Unlock()
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if name := id.String() + " " + claim; v.s.claims[name] == me {
		delete(v.s.claims, name)
		if claim == checkpoint.ClaimDeal {
			delete(v.s.dealers, id)
		}
	}
	v.s.tell()
	return nil
}
