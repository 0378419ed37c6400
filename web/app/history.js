// The firings of a graph that the page holds: those that its stream tells of, and those before them of the history.
import { ask, graphPath } from "./api.js"
import { atDaemon } from "./format.js"

const kept = 1000, mostBytes = 4 << 20 // of firings that come by themselves
const asked = 5000, askedBytes = 16 << 20 // of those that somebody asks for
const page = 200, pages = 5

/** idOf tells firings apart. */
export const idOf = f => f.gap ? `gap ${f.shard}/${f.from}-${f.to} ${f.at}` : `${f.shard ?? 0}/${f.incarnation}:${f.epoch}`

/** newer orders firings, the newest first: those of a shard as it counts them, others by their time. */
const newer = (a, b) => Date.parse(b.at) - Date.parse(a.at) ||
	((a.shard ?? 0) === (b.shard ?? 0) ? b.incarnation - a.incarnation || b.epoch - a.epoch : 0)

/** Firings is a list, the newest first, of firings and of gaps where some are not known. */
export class Firings {
	constructor(graph) {
		this.graph = graph
		this.clear()
	}

	clear() {
		this.rows = []
		this.sizes = new Map() // by id
		this.bytes = 0
		this.holes = new Map() // by id, how many came right before it and were not told
		// Where the history goes on behind the last row: a cursor, "" where nothing is before it, and undefined where that
		// has to be found, since rows have left the list.
		this.older = undefined
	}

	/** copy is a list that nothing comes to by itself. */
	copy() {
		const c = new Firings(this.graph)
		return Object.assign(c, { rows: [...this.rows], sizes: new Map(this.sizes), bytes: this.bytes, holes: new Map(this.holes), older: this.older })
	}

	/** left is how many came in between the rows and were not told. */
	get left() { return [...this.holes.values()].reduce((n, of) => n + of, 0) }

	/** full says that the list has as many as it may. */
	get full() { return this.rows.length >= asked || this.bytes >= askedBytes }

	note(f, size) {
		this.sizes.set(idOf(f), size)
		this.bytes += size
	}

	/** fired adds a firing that has just been, before which some were left out, and says whether it is new. */
	fired(f, size, left = 0) {
		if (this.sizes.has(idOf(f))) return false // of the history, which has those too
		this.come(f, size, left)
		return true
	}

	/** gap adds a gap above all. */
	gap(of, left = 0) {
		this.come({ gap: true, shard: 0, at: new Date(atDaemon()).toISOString(), ...of }, 100, left)
	}

	come(row, size, left) {
		this.note(row, size)
		this.rows.unshift(row)
		if (left) {
			this.holes.set(idOf(row), left)
			this.fill(row)
		}
		this.trim()
	}

	/** fill has the hole below a row be what the rows that are there leave of it: a shard counts its epochs one by one. */
	fill(row) {
		let left = this.holes.get(idOf(row))
		this.holes.delete(idOf(row))
		for (let k = this.rows.indexOf(row) + 1; left > 0 && !row.gap && k < this.rows.length; k++) {
			const below = this.rows[k]
			if ((below.shard ?? 0) !== (row.shard ?? 0)) continue
			if (below.gap || below.incarnation !== row.incarnation) break
			const between = row.epoch - below.epoch - 1
			left = between ? Math.min(left, between) : left - 1 // the one below is among those
			if (between) break
			row = below
		}
		if (left > 0) this.holes.set(idOf(row), left)
	}

	/** settle fills what rows of the history fill. */
	settle() {
		for (const row of this.rows.filter(f => this.holes.has(idOf(f)))) this.fill(row)
	}

	trim() {
		while (this.rows.length > kept || this.bytes > mostBytes && this.rows.length > 1) {
			const id = idOf(this.rows.pop())
			this.bytes -= this.sizes.get(id) ?? 0
			this.sizes.delete(id)
			this.holes.delete(id)
			this.holes.delete(idOf(this.rows.at(-1))) // behind the last the history goes on
			this.older = undefined
		}
	}

	ask(limit, before) {
		return ask("GET", graphPath(this.graph, `/firings?limit=${limit}` +
			(before ? "&before=" + encodeURIComponent(before) : "")))
	}

	/** newest adds what the history has above and among the rows, and a gap where it does not reach down to them. */
	async newest() {
		const { items, next = "" } = await this.ask(page, "")
		const there = this.rows.some(f => !f.gap), meets = items.some(f => this.sizes.has(idOf(f)))
		const fresh = items.filter(f => !this.sizes.has(idOf(f)))
		for (const f of fresh) this.note(f, JSON.stringify(f).length)
		if (there && !meets && next && items.length) {
			const row = { gap: true, shard: 0, at: items.at(-1).at }
			this.note(row, 100)
			fresh.push(row)
		}
		this.rows = [...this.rows, ...fresh].sort(newer)
		this.settle()
		const last = this.rows.at(-1)
		if (last === undefined) this.older = ""
		else if (items.length && idOf(last) === idOf(items.at(-1))) this.older = next
		this.trim()
	}

	/** more adds firings of the history behind the last row. */
	async more() {
		const last = this.rows.findLast(f => !f.gap), seeks = this.older === undefined && last
		let before = this.older ?? ""
		for (let n = 1; ; n++) {
			const { items, next = "" } = await this.ask(seeks ? 5 * page : page, before)
			const at = seeks ? items.findIndex(f => idOf(f) === idOf(last)) : -1
			if (!seeks || at >= 0) {
				this.older = next
				this.append(items.slice(at + 1))
				return this.settle()
			}
			if (!next || n === pages) { // the history does not have that firing any more, or very much has fired since
				this.older = next
				return this.append([{ gap: true, shard: 0, at: last.at }])
			}
			before = next
		}
	}

	append(items) {
		for (const f of items) {
			if (this.sizes.has(idOf(f))) continue
			this.note(f, f.gap ? 100 : JSON.stringify(f).length)
			this.rows.push(f)
		}
	}
}
