package gen

import "strconv"

type bill struct {
	ID       string `json:"id"`
	Amount   int64  `json:"amount"`
	Discount *int64 `json:"discount,omitempty"`
	At       int64  `json:"at"`
}

// Branches asks, at each bill, payment and change of a discount: what is due of its customer, which letter is owed, and
// what has just come? Any of the three may not have come yet.
func Branches(size int) Task {
	rng := source("branches")
	end := Base + 24*3_600_000
	items := []Item{
		{"bills", End, end, bill{ID: End, At: end}}, {"payments", End, end + 1, bill{ID: End, At: end + 1}},
		{"discounts", End, end + 2, bill{ID: End, At: end + 2}},
	}
	inputs := []string{"bills", "bills", "payments", "payments", "discounts"}
	for i := range size {
		at := Base + int64(i)*1000 + rng.Int64N(900)
		b := bill{ID: "c" + strconv.Itoa(rng.IntN(max(1, size/40))), Amount: rng.Int64N(8), At: at}
		input := inputs[rng.IntN(len(inputs))]
		if input == "discounts" || input == "bills" && rng.IntN(3) == 0 {
			d := rng.Int64N(3)
			b.Discount = &d
		}
		items = append(items, Item{input, b.ID, at, b})
	}
	t := Task{Name: "branches", Items: sorted(items), InStep: true}
	t.Want = answer(t.Name, t.Items)
	return t
}

// customer is what is known of one: null where something has not come.
type customer struct {
	bill, payment, discount *bill
}

func branchesAnswer(items []Item) map[string][]any {
	customers := map[string]*customer{}
	var settled, letters, news []any
	for _, it := range items {
		b := it.Value.(bill)
		c := customers[b.ID]
		if c == nil {
			c = &customer{}
			customers[b.ID] = c
		}
		less := c.less()
		switch it.Input {
		case "bills":
			c.bill = &b
		case "payments":
			c.payment = &b
		default:
			c.discount = &b
		}
		if b.ID == End {
			continue
		}
		news = append(news, fields("id", b.ID, "at", b.At, "bill", it.Input == "bills", "payment",
			it.Input == "payments", "discount", it.Input == "discounts", "why", "criteria"))
		if c.bill == nil || c.payment == nil || it.Input == "discounts" && c.less() == less {
			continue // nothing is due, or nothing else than before
		}
		switch due := c.bill.Amount - c.less() - c.payment.Amount; due {
		case 0:
			settled = append(settled, fields("id", b.ID, "at", b.At, "amount", c.bill.Amount))
		default:
			letters = append(letters, fields("id", b.ID, "at", b.At, "due", due))
		}
	}
	return map[string][]any{"settled": settled, "letters": letters, "news": news}
}

// less is what the bill is reduced by: its own discount, or else that of the customer.
func (c *customer) less() int64 {
	switch {
	case c.bill != nil && c.bill.Discount != nil:
		return *c.bill.Discount
	case c.discount != nil && c.discount.Discount != nil:
		return *c.discount.Discount
	}
	return 0
}
