// Pieces that several views have.
import { html, effect, useEffect, useSignal, useState, signal } from "./vendor.js"
import { now, seconds, clock, nothing, stamped, ago } from "./format.js"
import { Link, to, tenant } from "./route.js"
import { signOut, signedOut } from "./api.js"
import { Me } from "./who.js"

/** healths are those there are, the worst first, each with what it looks like and what it means. */
export const healths = {
	failed: ["bad", "it has given up; a restart by hand is needed"],
	halted: ["bad", "it waits for somebody to decide"],
	starting: ["wait", "it has not begun yet"],
	warming: ["wait", "it waits for its first values"],
	standby: ["wait", "another daemon has it, or is about to"],
	stopped: ["idle", "an operator has stopped it"],
	degraded: ["warn", "it runs, and something of it does not"],
	live: ["good", "it runs"],
}

const ofInputs = { // what inputs have beside these
	disconnected: ["bad", "what it reads from cannot be reached"],
	socket_only: ["idle", "it has no source of its own: events are pushed to it"],
}

const severity = Object.keys(healths)

/** worst orders healths, the worst first; one that is not known is worse than any. */
export const worst = health => severity.indexOf(health)

/**
 * withHealth is how a graph stands once a frame of its health has come. What is worse is so at once. Whether something is
 * better the next summary says, which knows of outputs, limits and shards too: such a frame is of the core alone.
 */
export const withHealth = (was, { health, health_reason, paused }) => ({ ...was, paused,
	...(worst(health) < worst(was.health) || health === was.health && health_reason) && { health, health_reason: health_reason ?? null } })

const marks = { good: "●", warn: "▲", bad: "✖", wait: "◌", idle: "■" }

/** Health is a health in a word. What it looks like is never all there is: a mark and the word say it too. */
export const Health = ({ health, paused, reason }) => {
	const [look, means] = healths[health] ?? ofInputs[health] ?? ["idle", ""]
	return html`<span class="health">
		<span class=${"badge " + look} title=${reason?.detail ?? means}><span aria-hidden="true">${marks[look]}</span>
			${" " + health}</span>
		${paused && html`<span class="badge idle" title="nothing fires until it is resumed"><span aria-hidden="true">Ⅱ</span>
			${" "}paused</span>`}
	</span>`
}

/** Code is a code of the daemon's, which leads to what its documentation says of it. */
export const Code = ({ code, look = "idle" }) => html`<a class=${"badge " + look} href=${"/docs/codes#" + code}
	title="what it means, and what to do">${code.replaceAll("_", " ")}</a>`

/** Doc leads to a page of the documentation that the daemon serves. */
export const Doc = ({ to, children }) => html`<a href=${"/docs/" + to}>${children}</a>`

/** Advice leads from the reason of a health to what can be done about it. */
export const Advice = ({ reason }) => reason?.code ? html` <${Doc} to=${"runbook#" + reason.code}>What to do<//>` : null

/** When is a time as it was ago, and in full where one points at it. */
export const When = ({ at }) => at ? html`<time dateTime=${at} title=${stamped(at)}>${ago(at)}</time>` :
	html`<span class="dim">never</span>`

/** Clock is a time of the day, in the viewer's zone. */
export const Clock = ({ at }) => html`<time dateTime=${at} title=${stamped(at)}>${clock(at)}</time>`

/** Figure is a number with its name. */
export const Figure = ({ name, value, of, title, look = "" }) => html`<div class=${"figure " + look} title=${title}>
	<dt>${name}</dt><dd>${value ?? nothing}${of && html`<small>${of}</small>`}</dd></div>`

/** Connection says how the stream is doing. */
export const Connection = ({ stream }) => {
	const s = stream.state.value
	if (s.name === "live") return html`<span class="connection good" role="status"><span class="pulse"></span>Live</span>`
	if (s.name === "connecting") return html`<span class="connection dim" role="status">Connecting …</span>`
	return html`<span class="connection bad" role="status">Not connected</span>`
}

/** Away tells of a stream that has broken off, and offers to try at once. */
export const Away = ({ stream }) => {
	const s = stream.state.value
	if (s.name !== "away") return null
	const left = Math.max(0, Math.ceil((s.retry - now.value) / 1000))
	return html`<div class="notice bad" role="alert">
		<p><strong>Not connected since ${clock(s.since)}</strong>: ${s.why}. What is shown is from then.
		<span aria-hidden="true">${left > 0 ? ` Another try in ${left} s.` : " Trying …"}</span></p>
		<button onClick=${stream.retry}>Try now</button>
	</div>`
}

const themes = ["auto", "light", "dark"]
const stored = () => { try { return localStorage.getItem("theme") } catch { return null } }
const theme = signal(themes.includes(stored()) ? stored() : "auto")

/** useTheme has the document follow the theme that is chosen. */
export const useTheme = () => useEffect(() => {
	if (theme.value === "auto") delete document.documentElement.dataset.theme
	else document.documentElement.dataset.theme = theme.value
	try { localStorage.setItem("theme", theme.value) } catch { /* it is for this visit, then */ }
}, [theme.value])

/** Top is the head of every view. */
export const Top = ({ stream, children }) => {
	const next = themes[(themes.indexOf(theme.value) + 1) % themes.length]
	const leave = async () => {
		try {
			await signOut()
			session.value = false
			signedOut.value = "you have signed out"
		} catch (no) {
			alert("The session could not be ended: " + no.message)
		}
	}
	return html`<header class="top">
		<${Link} class="brand" href=${to("/")}><img src="/page/icon.svg" alt="" width="24" height="24" /> graphd<//>
		${tenant.value && html`<span class="badge idle" title="the tenant that is looked at">${tenant.value}</span>`}
		<div class="crumbs">${children}</div>
		${stream && html`<${Connection} stream=${stream} />`}
		<${Me} />
		<button class="quiet" onClick=${() => { theme.value = next }} title=${"Theme: " + theme.value}
			aria-label=${`Theme: ${theme.value}; change it to ${next}`}>◐</button>
		${session.value && html`<button class="quiet" onClick=${leave}>Sign out</button>`}
		<a class="quiet" href="/docs">Docs</a>
	</header>`
}

/** session says that the browser is logged in, so that it can be left. */
export const session = signal("session" in document.documentElement.dataset)

/** Waiting says that something is on its way, once that has taken longer than a blink. */
export const Waiting = ({ children = "Loading …" }) => {
	const [late, show] = useState(false)
	useEffect(() => { const t = setTimeout(() => show(true), 300); return () => clearTimeout(t) }, [])
	return late ? html`<p class="dim" role="status">${children}</p>` : null
}

/** useSeen says of an element whether it is in sight, or about to be: what is not need not be drawn as often. */
export const useSeen = at => {
	const seen = useSignal(true)
	useEffect(() => {
		const look = new IntersectionObserver(all => { seen.value = all.at(-1).isIntersecting }, { rootMargin: "100px" })
		look.observe(at.current)
		return () => look.disconnect()
	}, [])
	return seen
}

const unseen = 3000 // milliseconds between two drawings of what is out of sight

/** useBeat has a component drawn with each beat while it is new or its element is in sight, and out of sight less often. */
export const useBeat = (beat, at) => {
	const seen = useSeen(at), shown = useSignal(0)
	useEffect(() => {
		const made = Date.now()
		let last = 0, timer
		const show = () => {
			clearTimeout(timer)
			timer = undefined
			last = Date.now()
			shown.value = shown.peek() + 1
		}
		const ends = effect(() => {
			beat.value
			if (seen.value || Date.now() - last >= unseen || Date.now() - made < unseen) show()
			else timer ??= setTimeout(show, last + unseen - Date.now())
		})
		return () => {
			ends()
			clearTimeout(timer)
		}
	}, [beat])
	return shown.value
}

/** Span is a time span of so many microseconds. */
export const Span = ({ us }) => html`<span class="number">${seconds(us == null ? null : us / 1e6)}</span>`

/** Value is a value as JSON. */
export const Value = ({ value, name }) => value === undefined ? html`<span class="dim">${nothing}</span>` :
	html`<pre class="value" tabindex="0" role="group" aria-label=${name}>${JSON.stringify(value, null, 2)}</pre>`

/** statuses say what a node's status means. */
export const statuses = {
	ran: "ran", cut_off: "cut off: what it reads was the same as before", skipped: "skipped: its route was not taken, or what " +
		"it needs is absent", failed: "failed", idle: "idle: nothing it reads has come",
}
