// What is known of one graph: told by its stream, and asked for where the stream does not say it.
import { batch, signal } from "./vendor.js"
import { open, slowly } from "./stream.js"
import { ask, graphPath } from "./api.js"
import { atDaemon, own, skew, tick } from "./format.js"
import { Firings } from "./history.js"
import { withHealth } from "./parts.js"

const ticks = 600 // seconds in the chart
const keysKept = 50 // whose last values are known
const shownASecond = 4 // epochs and states, as often as something is drawn
const readAgain = 1500 // milliseconds until what one reads is drawn without a summary, which comes once a second
const planAgain = 15000 // milliseconds until a plan is asked for again that could not be had

/**
 * follow follows one graph until it is closed. What moves, the picture, is drawn with each version; figures, lists and
 * charts, which one reads, with each beat alone: when a summary has come, and all in one frame.
 */
export const follow = name => {
	const m = {
		summary: signal(null), plan: signal(null), trouble: signal(""), version: signal(0), beat: signal(0),
		live: { accumulators: new Map(), outputs: new Map(), changed: new Map(), put: new Map(), state: null, at: 0, left: 0 },
		firings: new Firings(name), rates: [[], [], []], gaps: [],
	}
	let stands = null, beats = 0, later // the newest summary, when the last beat was, and what waits for the next
	const changed = slowly(() => batch(() => {
		m.live.at = Date.now()
		m.version.value++
		clearTimeout(later)
		if (stands === m.summary.value && m.live.at - beats < readAgain) {
			later = setTimeout(changed, beats + readAgain - m.live.at)
			return
		}
		beats = m.live.at
		m.summary.value = stands
		m.beat.value++
		tick()
	}))
	const troubles = new Map()
	let planned = -1, plannedAt = 0, last

	/** tell tells of a trouble of a kind, "" that there is none any more. */
	const tell = (kind, why) => {
		if (why) troubles.set(kind, why)
		else troubles.delete(kind)
		m.trouble.value = [...troubles.values()][0] ?? ""
	}

	const plan = async revision => {
		planned = revision
		try {
			m.plan.value = await ask("GET", graphPath(name, "/plan"))
			plannedAt = Infinity
			tell("plan", "")
		} catch (no) {
			plannedAt = Date.now()
			tell("plan", no.message)
		}
	}

	const history = async () => {
		try {
			await m.firings.newest()
			tell("history", "")
		} catch (no) {
			tell("history", no.message)
		}
		beats = 0 // it was asked for
		changed()
	}

	const state = async () => {
		const was = m.live.state
		try {
			const found = await ask("GET", graphPath(name, "/state"))
			if (m.live.state === was) m.live.state = found // else the stream has told of a newer one
		} catch { /* of a graph with keys there is none without a key: it comes with the next epoch */ }
		changed()
	}

	const summed = (s, lookedAt) => {
		const at = Date.parse(lookedAt) / 1000, was = last
		last = { at, epoch: s.epoch, received: s.counters.received, busy: s.cost.busy_seconds, of: s.incarnation,
			each: new Map(s.accumulators.map(a => [a.name, a.counters.received])) }
		const goes = was && was.of === s.incarnation ? at - was.at : 0
		const a = goes > 0.2 ? (now, then) => Math.max(0, now - then) / goes : () => null
		m.live.accumulators = new Map(s.accumulators.map(x => [x.name, { ...x,
			rate: was?.each.has(x.name) ? a(x.counters.received, was.each.get(x.name)) : null }]))
		m.live.outputs = new Map(s.outputs.map(x => [x.name, x]))
		s.events_per_second = a(s.counters.received, was?.received)
		s.cores = a(s.cost.busy_seconds, was?.busy)
		const [t, events, epochs] = m.rates
		t.push(atDaemon() / 1000)
		events.push(s.events_per_second)
		epochs.push(s.epochs_per_second)
		if (t.length > ticks) for (const row of m.rates) row.splice(0, row.length - ticks)
		stands = s
		m.summary.value ??= s // the first at once
		if (planned !== s.revision || Date.now() - plannedAt > planAgain) {
			plannedAt = Infinity
			plan(s.revision)
		}
		// The stream tells of the state behind each epoch. What has come since, while none has run, is asked for when it has.
		if (!was && !s.keys && !m.live.state) state()
		const there = m.live.state?.dirty
		if (there && was?.epoch === s.epoch && !s.keys && s.accumulators.some(x => (own(there, x.name) ?? false) !== x.dirty))
			state()
		changed()
	}

	const fired = (f, size, left) => {
		if (!m.firings.fired(f, size, left)) return
		for (const [output, value] of Object.entries(f.outputs ?? {})) m.live.put.set(output, { at: Date.now(), value })
	}

	const values = new Map() // by key: what the nodes last came to, as texts
	const seen = s => {
		const key = JSON.stringify(s.key ?? null), was = values.get(key)
		const is = new Map(Object.entries(s.nodes).map(([node, value]) => [node, JSON.stringify(value)]))
		for (const [node, value] of is) if (was && was.get(node) !== value) m.live.changed.set(node, Date.now())
		values.delete(key)
		values.set(key, is)
		if (values.size > keysKept) values.delete(values.keys().next().value)
		m.live.state = s
	}

	m.stream = open(`/v1/ws/graphs/${encodeURIComponent(name)}/reactor`, ["summary", "firings", "state", "health"], {
		resumes: true, sample: shownASecond,
		again(since, goesOn) {
			last = undefined
			tell("stream", "")
			if (since) {
				m.gaps.push([(since + skew.value) / 1000, atDaemon() / 1000])
				if (m.gaps.length > ticks) m.gaps.shift()
				for (const row of m.rates) row.push(row === m.rates[0] ? atDaemon() / 1000 : null)
			}
			if (!goesOn) history()
		},
		heard(f, size) {
			m.live.left += f.left_out ?? 0
			switch (f.type) {
			case "summary":
				return summed(f.summary, f.looked_at)
			case "firing":
				fired(f.firing, size, f.left_out)
				break
			case "state":
				seen({ ...f.state, key: f.key })
				break
			case "gap":
				if (f.unknown) {
					m.firings.clear()
					m.firings.gap({ at: new Date(0).toISOString() }) // below what the history has of what is there now
					last = undefined
					break
				}
				m.firings.gap({ from: f.from, to: f.to, shard: f.shard ?? 0 }, f.left_out)
				break
			case "health":
				if (stands && !f.shard && !stands.shards) stands = withHealth(stands, f)
				break
			case "error":
				if (f.code !== "graph_ended") tell("stream", f.detail)
				return
			}
			changed()
		},
	})
	m.close = () => {
		clearTimeout(later)
		m.stream.close()
	}
	return m
}
