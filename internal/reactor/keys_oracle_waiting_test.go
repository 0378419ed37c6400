package reactor

import "slices"

// What of the reference bounds what waits in a key (M13).

// bound gives up what is more than max_waiting: of what waits in a key that may not fire now, or
// that the zips will leave which are complete.
func (r *reference) bound(k *refKey) {
	_, due, ok := r.due(k)
	may := ok && !due.After(r.now)
	if r.unkeyed || may && !r.all {
		return
	}
	zips := 0
	for i, w := range k.waiting {
		if n := max(1, len(w)); may && r.sequential[i] && r.triggers(i) && (zips == 0 || n < zips) {
			zips = n
		}
	}
	if may && zips == 0 {
		return
	}
	for i := range k.waiting {
		for r.sequential[i] && len(k.waiting[i])-zips > r.maxWaiting {
			if oldest, _ := r.oldest(k); !r.sequential[1-i] && !r.group && len(k.waiting[1-i]) > 0 && zips == 0 {
				k.waiting[1-i][0].at = oldest.at // nobody has noted when the newest came
			}
			k.waiting[i] = slices.Delete(k.waiting[i], zips, zips+1)
			if r.drop {
				r.books[i].filtered++
			} else {
				r.books[i].dead++
			}
			if r.group && !r.sequential[1-i] {
				r.thin(k, i)
			}
		}
	}
}

// thin conflates what of the latest input of a group has nothing sequential of input i in between any more.
func (r *reference) thin(k *refKey, i int) {
	latest := k.waiting[1-i]
	for len(latest) > 1 && (len(k.waiting[i]) == 0 || latest[1].seq < k.waiting[i][0].seq) {
		latest = latest[1:]
		r.books[1-i].conflated++
	}
	k.waiting[1-i] = latest
}
