// Who looks, and what that may do: what may not be done is not offered.
import { html, signal } from "./vendor.js"
import { ask } from "./api.js"
import { tenant } from "./route.js"
import { list } from "./format.js"

/** who is whom the daemon takes the page for, null while that is not known. */
export const who = signal(null)

const first = 1000, most = 60000 // milliseconds between two tries

let asked = 0

/**
 * learn asks the daemon who looks, until it says so or what was asked is over; while it does not, everything is offered,
 * and the daemon refuses what may not be.
 */
export const learn = (wait = first, turn = ++asked) => ask("GET", "/v1/whoami").then(is => {
	if (turn === asked) who.value = is
}, no => {
	if (turn !== asked) return
	who.value = null
	if (no.status === 401) return // another sign-in asks anew
	setTimeout(() => { if (turn === asked) learn(Math.min(most, 2 * wait), turn) }, wait)
})

/** may says whether one may do what takes a permission. */
export const may = need => !who.value || who.value.permissions.includes(need)

/** least is the role that gives a permission at least. */
const least = { read: "viewer", push: "pusher", operate: "operator", author: "author", administer: "tenant-admin",
	platform: "platform-admin" }

/** whyNot is why one may not do what takes a permission, "" where one may. */
export const whyNot = need => {
	if (may(need)) return ""
	const is = who.value
	return is.read_only ? `You are ${is.subject}, whose token is narrowed to reading` : `You are ${is.subject}, ${is.role} in ${
		is.tenant}, and this takes the role ${least[need]}${need === "platform" ? "" : " or one that may more"}`
}

const can = { read: "look at graphs", push: "push events", operate: "fire, pause, replay", author: "apply declarations",
	administer: "give tokens, read the audit", platform: "do what is the daemon's" }

/** Me says who looks, where somebody has to be known. */
export const Me = () => {
	const is = who.value
	if (!is || is.subject.startsWith("anonymous")) return null
	return html`<span class="badge idle me" title=${`You are ${is.subject}, ${is.role} in ${is.tenant}, and may ${
		list(is.permissions.map(p => can[p] ?? p))}${is.graphs.length ? `; of graphs named ${list(is.graphs, "or")}` : ""}.`}>
		${is.read_only ? is.role + ", reads" : is.role}</span>`
}
