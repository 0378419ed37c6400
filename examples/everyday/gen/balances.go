package gen

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

type move struct {
	ID      int64  `json:"id"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
	At      int64  `json:"at"`
}

// recent is how many moves of an account are remembered, so that one that comes again counts once.
const recent = 20

// Balances asks, at each move of money: has this one taken its account below zero, and how many payments in a row has
// a credit just ended? Each account begins with 100, and one move in 25 is told twice.
func Balances(size int) Task {
	rng := source("balances")
	end := Base + 24*3_600_000
	items := []Item{{"moves", End, end, move{0, End, 0, end}}}
	last, told := map[string]move{}, int64(0)
	for i := range size {
		at := Base + int64(i)*1000 + rng.Int64N(900)
		account := "a" + strconv.Itoa(rng.IntN(40))
		m, again := last[account]
		if m.At = at; !again || rng.IntN(25) > 0 {
			told++
			m = move{told, account, rng.Int64N(115) - 60, at}
		}
		last[account] = m
		items = append(items, Item{"moves", account, at, m})
	}
	t := Task{Name: "balances", Items: sorted(items), Within: 10 * time.Second}
	t.Want = answer(t.Name, t.Items)
	return t
}

func balancesAnswer(items []Item) map[string][]any {
	type account struct {
		balance, debits int64
		seen            []int64
	}
	accounts := map[string]*account{}
	var overdrawn, streaks []any
	for _, m := range values[move](items) {
		if m.Account == End {
			continue
		}
		a := accounts[m.Account]
		if a == nil {
			a = &account{balance: 100}
			accounts[m.Account] = a
		}
		if slices.Contains(a.seen, m.ID) {
			continue
		}
		a.seen = append(a.seen, m.ID)[max(0, len(a.seen)+1-recent):]
		before := a.balance
		if a.balance += m.Amount; before >= 0 && a.balance < 0 {
			overdrawn = append(overdrawn, fields("account", m.Account, "id", m.ID, "balance", a.balance))
		}
		if m.Amount < 0 {
			a.debits++
			continue
		}
		if a.debits > 2 {
			streaks = append(streaks, fields("account", m.Account, "id", m.ID, "debits", a.debits))
		}
		a.debits = 0
	}
	return map[string][]any{"overdrawn": overdrawn, "streaks": streaks}
}

// fields makes an object of names and values in turn.
func fields(pairs ...any) map[string]any {
	of := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		of[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return of
}
