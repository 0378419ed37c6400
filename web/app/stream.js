// A stream of frames over a WebSocket that outlives its connections: it connects again after a while, goes on where it
// was, and says while it cannot.
import { signal } from "./vendor.js"
import { ask, parse, signedOut } from "./api.js"
import { skew } from "./format.js"

const protocol = "graphd.v1+json"
const first = 500, most = 15000 // milliseconds between two tries
const silence = 15000 // after which a stream that tells every few seconds has gone
const patience = 10000 // for an answer

/**
 * open follows the topics of an endpoint. heard is given each frame, and how long its text is; again says that a
 * connection has begun anew, since when there was none, and whether it goes on where the last one was. where is an
 * expression: outputs and firings come for which it is true. With sample about so many epochs come a second.
 */
export const open = (path, topics, { heard, again = () => {}, resumes = false, where, sample }) => {
	const state = signal({ name: "connecting", since: Date.now() })
	const places = new Map() // by shard: where the stream is
	let socket, timer, tries = 0, ended = false, last = 0
	let turn = 0 // of the connection that is tried, or there: what one before it has to say counts for nothing
	let goesOn = false

	const away = why => {
		if (ended) return
		socket = undefined
		const wait = Math.min(most, first * 2 ** tries) * (0.75 + Math.random() / 2)
		tries++
		const since = state.value.name === "away" ? state.value.since : Date.now()
		state.value = { name: "away", since, why, retry: Date.now() + wait }
		clearTimeout(timer)
		timer = setTimeout(connect, wait)
	}

	const since = () => [...places].sort(([a], [b]) => a - b).map(([shard, at]) => shard ? `${shard}/${at}` : at).join()

	const subscribe = (to, from) => {
		goesOn = from !== ""
		to.send(JSON.stringify({ type: "subscribe", id: from ? 2 : 1, topics, where, sample, ...(from ? { since: from } : {}) }))
	}

	const note = f => {
		if (!resumes || !["output", "firing", "gap"].includes(f.type) || !f.incarnation) return
		places.set(f.shard ?? 0, `${f.incarnation}:${Math.max(f.seq, f.to ?? 0)}`)
	}

	const take = (from, f, size) => {
		switch (f.type) {
		case "hello":
			skew.value = Date.parse(f.server_time) - Date.now()
			return subscribe(from, resumes ? since() : "")
		case "result":
			tries = 0
			if (f.at) for (const one of f.at.split(",")) {
				const [shard, at] = one.includes("/") ? one.split("/") : ["0", one]
				if (!places.has(Number(shard))) places.set(Number(shard), at)
			}
			again(state.value.name === "away" ? state.value.since : 0, goesOn)
			state.value = { name: "live", since: Date.now() }
			return
		case "error":
			if (f.code === "bad_since" && f.id === 2) {
				places.clear()
				heard({ type: "gap", unknown: true })
				return subscribe(from, "")
			}
			if (f.code === "invalid_frame") last = Infinity // nothing is subscribed to, so silence is what there is
			return heard(f, size)
		}
		note(f)
		heard(f, size)
	}

	const connect = async () => {
		clearTimeout(timer)
		if (ended) return
		const mine = ++turn, over = () => ended || mine !== turn
		socket?.close()
		socket = undefined
		let ticket
		try {
			ticket = (await ask("POST", "/v1/ws-tickets", { signal: AbortSignal.timeout(patience) })).ticket
		} catch (no) {
			if (over()) return
			return signedOut.value && no.status === 401 ? close() : away(no.message)
		}
		if (over()) return
		const url = new URL(path, location.href)
		url.protocol = url.protocol.replace("http", "ws")
		url.searchParams.set("ticket", ticket)
		const opened = socket = new WebSocket(url, protocol)
		let greeted = false
		last = Date.now()
		opened.onmessage = event => {
			if (over() || socket !== opened) return
			last = Date.now()
			greeted = true
			take(opened, parse(event.data), event.data.length)
		}
		opened.onclose = event => {
			if (over() || socket !== opened) return
			socket = undefined
			if (greeted) return away(event.reason || "the connection has ended")
			refused(over)
		}
	}

	// A browser does not say why a connection is refused: an ordinary request of the same route is told.
	const refused = async over => {
		let no
		try {
			await ask("GET", path, { signal: AbortSignal.timeout(patience) })
		} catch (error) { no = error }
		if (over()) return
		if (!no || no.status === 426) return away("the connection is refused: does a proxy in between let WebSockets through?")
		if (no.status !== 404) return away(no.message)
		state.value = { name: "gone", since: Date.now(), why: no.message }
		clearTimeout(timer)
		timer = setTimeout(connect, most)
	}

	// A connection that is gone without a word: its machine sleeps, or a proxy has forgotten it.
	const look = setInterval(() => {
		if (!socket || Date.now() - last < silence) return
		const gone = socket
		socket = undefined
		gone.close()
		away("nothing was heard for a while")
	}, 3000)
	const wake = () => { if (!document.hidden && state.value.name === "away") connect() }
	addEventListener("online", wake)
	document.addEventListener("visibilitychange", wake)

	const close = () => {
		ended = true
		clearTimeout(timer)
		clearInterval(look)
		removeEventListener("online", wake)
		document.removeEventListener("visibilitychange", wake)
		socket?.close()
	}
	connect()
	return { state, close, retry: connect }
}

/**
 * slowly calls show at most so often, and a last time for what came in between: four times a second, and less often where
 * showing takes long on the whole, so that a page which has much to show leaves its reader's machine alone.
 */
export const slowly = (show, ms = 250, share = 30, most = 2000) => {
	let waits, cost = 0
	return () => {
		if (waits) return
		waits = setTimeout(() => {
			waits = undefined
			const began = performance.now()
			show()
			setTimeout(() => { cost += (performance.now() - began - cost) / 4 }) // what has changed is drawn before that
		}, Math.min(most, Math.max(ms, share * cost)))
	}
}
