package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// No list may read a whole table, nor sort: each must be answered from an index, in its order.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "graphd.db"))
	defer s.Close()
	texts := []string{
		selectHead, advanceHead, ownHead, relinquishHead, noteAttempt, absolveHead, countHead, selectFence,
		selectState, raiseFence,
		updateCell, deleteCell, selectCells, trimFirings, listFirings, listFiringsOfKey, selectFiring,
		selectLetter, listLetters + letterChosen + newestLetter, listLetters + letterChosen + oldestLetter,
		listLetters + letterChosen + letterBelow + newestLetter,
		listLetters + letterChosen + letterOfKey + letterBelow + newestLetter,
		deleteLetter, discardLetter, listRetention,
		listEvents, pruneEvents, selectRevision, raiseRevision, putDeclaration, listDeclarations, deleteDeclaration,
		dropState, deleteHead, deleteEvents, sweepCells, sweepFirings, sweepLetters, deleteDropped,
	}
	err := s.read(t.Context(), func(c *sqlconn.Conn) error {
		for _, text := range texts {
			args := make([]any, 20) // more than any of them takes
			for i := range args {
				args[i] = int64(1)
			}
			err := c.Query(t.Context(), "EXPLAIN QUERY PLAN "+text, func(r sqlconn.Row) error {
				step := r.Text(3)
				scan := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "started") &&
					!strings.Contains(step, "CONSTANT") && text != listDeclarations
				if scan || strings.Contains(step, "TEMP B-TREE") {
					t.Errorf("%s\n\t%s", text, step)
				}
				t.Log(step)
				return nil
			}, args...)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
