// What is known of one graph: told by its stream, and asked for where the stream does not say it.
import { batch, signal } from "./vendor.js"
import { open, slowly } from "./stream.js"
import { ask, graphPath } from "./api.js"

const kept = 1000 // firings in the list
const ticks = 600 // seconds in the chart

/** follow follows one graph until it is closed. */
export const follow = name => {
	const m = {
		summary: signal(null), plan: signal(null), trouble: signal(""), version: signal(0), tick: signal(0),
		live: { accumulators: new Map(), outputs: new Map(), changed: new Map(), put: new Map(), state: null, at: 0 },
		firings: [], older: "", whole: false,
		rates: [[], [], []], gaps: [], events: signal(null),
	}
	const changed = slowly(() => { m.live.at = Date.now(); m.version.value++ })
	let planned = -1, last

	const plan = async revision => {
		planned = revision
		try {
			m.plan.value = await ask("GET", graphPath(name, "/plan"))
		} catch (no) {
			planned = -1
			m.trouble.value = no.message
		}
	}

	const history = async () => {
		try {
			const page = await ask("GET", graphPath(name, "/firings?limit=200"))
			const known = new Set(m.firings.map(idOf))
			m.firings = [...m.firings, ...page.items.filter(f => !known.has(idOf(f)))].slice(0, kept)
			m.older = page.next ?? ""
			changed()
		} catch (no) {
			m.trouble.value = no.message
		}
	}

	m.more = async () => {
		const page = await ask("GET", graphPath(name, "/firings?limit=200&before=" + encodeURIComponent(m.older)))
		m.firings = [...m.firings, ...page.items].slice(0, 5 * kept)
		m.older = page.next ?? ""
		m.version.value++
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
		t.push(Date.now() / 1000)
		events.push(s.events_per_second)
		epochs.push(s.epochs_per_second)
		if (t.length > ticks) for (const row of m.rates) row.splice(0, row.length - ticks)
		batch(() => {
			m.summary.value = s
			m.tick.value++
		})
		if (planned !== s.revision) plan(s.revision)
		// The stream tells of the state behind each epoch. What has come since, while none has run, is asked for when it has.
		if (!was && !s.keys && !m.live.state) state()
		const there = m.live.state?.dirty
		if (there && was?.epoch === s.epoch && !s.keys && s.accumulators.some(x => (there[x.name] ?? false) !== x.dirty)) state()
		changed()
	}

	const fired = f => {
		m.firings.unshift(f)
		if (m.firings.length > kept) m.firings.length = kept
		for (const [output, value] of Object.entries(f.outputs ?? {})) m.live.put.set(output, { at: Date.now(), value })
	}

	const seen = s => {
		const was = m.live.state
		for (const [node, value] of Object.entries(s.nodes)) {
			if (was && JSON.stringify(was.nodes[node]) !== JSON.stringify(value)) m.live.changed.set(node, Date.now())
		}
		m.live.state = s
	}

	m.stream = open(`/v1/ws/graphs/${encodeURIComponent(name)}/reactor`, ["summary", "firings", "state", "health"], {
		resumes: true, about: graphPath(name),
		again(since) {
			last = undefined
			if (since) {
				m.gaps.push([since / 1000, Date.now() / 1000])
				for (const row of m.rates) row.push(row === m.rates[0] ? Date.now() / 1000 : null)
			} else {
				history()
			}
		},
		heard(f) {
			switch (f.type) {
			case "summary":
				return summed(f.summary, f.looked_at)
			case "firing":
				fired(f.firing)
				break
			case "state":
				seen({ ...f.state, key: f.key })
				break
			case "gap":
				if (f.unknown) {
					m.firings = []
					last = undefined
					history().then(() => m.firings.push({ gap: true, at: new Date().toISOString(), shard: 0 }))
					break
				}
				m.firings.unshift({ gap: true, at: new Date().toISOString(), from: f.from, to: f.to, shard: f.shard ?? 0 })
				break
			case "health":
				if (m.summary.value && !f.shard && !m.summary.value.shards) m.summary.value = { ...m.summary.value,
					health: f.health, paused: f.paused, health_reason: f.health_reason ?? null }
				break
			case "error":
				if (f.code !== "graph_ended") m.trouble.value = f.detail
				return
			}
			changed()
		},
	})
	m.close = m.stream.close
	return m
}

/** idOf tells firings apart. */
export const idOf = f => f.gap ? `gap ${f.shard}/${f.from}-${f.to} ${f.at}` : `${f.shard ?? 0}/${f.incarnation}:${f.epoch}`
