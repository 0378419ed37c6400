package told

import "fmt"

// TakenBefore says how many events of a push were taken before it was refused.
func TakenBefore(n int) string {
	switch n {
	case 0:
		return "no event was taken"
	case 1:
		return "only the first event was taken"
	}
	return fmt.Sprintf("only the first %d events were taken", n)
}
