// Numbers with units, and times in the viewer's zone.
import { signal } from "./vendor.js"

/** now is the time, once a second, for whatever tells how long ago something was. */
export const now = signal(Date.now())

let next
/** tick has it be now: a view that draws once a second anyway calls it then, for one frame in place of two. */
export const tick = (ms = 1250) => {
	clearTimeout(next)
	next = setTimeout(() => tick(1000), ms)
	if (!document.hidden) now.value = Date.now()
}
tick()

/** skew is how far the daemon's clock is ahead of the viewer's, in milliseconds; atDaemon is what it shows now. */
export const skew = signal(0)
export const atDaemon = () => Date.now() + skew.value

document.addEventListener("visibilitychange", () => { now.value = Date.now() })

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumSignificantDigits: 3 })
const one = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })
const three = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 })
const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit",
	fractionalSecondDigits: 3, hourCycle: "h23" })
const stamp = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" })

/** nothing stands for what is not known. */
export const nothing = "–"

export const exact = n => n == null ? nothing : whole.format(n)
export const count = n => n == null ? nothing : Math.abs(n) < 10000 ? whole.format(n) : short.format(n)

/** rate is so many a second. */
export const rate = n => {
	if (n == null) return nothing
	if (n === 0) return "0/s"
	if (n < 0.1) return "<0.1/s"
	return (n < 100 ? one.format(n) : n < 10000 ? whole.format(n) : short.format(n)) + "/s"
}

export const bytes = n => {
	if (n == null) return nothing
	for (const unit of ["B", "KiB", "MiB", "GiB"]) {
		if (n < 1000 || unit === "GiB") return (unit === "B" ? whole : three).format(n) + " " + unit
		n /= 1024
	}
}

/** seconds is a time span. */
export const seconds = s => {
	if (s == null) return nothing
	if (s === 0) return "0 s"
	if (s < 0.001) return whole.format(s * 1e6) + " µs"
	if (s < 1) return three.format(s * 1e3) + " ms"
	if (s < 60) return one.format(s) + " s"
	if (s < 3600) return whole.format(Math.floor(s / 60)) + " min"
	if (s < 48 * 3600) return whole.format(Math.floor(s / 3600)) + " h"
	return whole.format(Math.floor(s / 86400)) + " days"
}

/** cores is a share of a processor's core. */
export const cores = n => n == null ? nothing : n < 0.0005 ? "0 %" : three.format(n * 100) + " %"

/** ago is how long ago a time was. */
export const ago = at => {
	if (!at) return "never"
	const s = (now.value + skew.value - Date.parse(at)) / 1000
	return s < 1 ? "just now" : s < 10 ? Math.floor(s) + " s ago" : seconds(Math.floor(s)).replace(/\.\d/, "") + " ago"
}

/** clock is a time of today, stamped one with its day and zone. */
export const clock = at => at ? time.format(new Date(at)) : nothing
export const stamped = at => at ? stamp.format(new Date(at)) : ""

/** sentence is a text as one, where it is not. */
export const sentence = text => text ? text.slice(0, 1).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : ""

/** some is a number with its noun. */
export const some = (n, noun, many = noun + "s") => `${exact(n)} ${n === 1 ? noun : many}`

/** brief is a value as JSON, cut after so many characters. */
export const brief = (value, most = 60) => {
	if (value === undefined) return nothing
	const text = typeof value === "number" ? number(value) : JSON.stringify(value)
	return text.length > most ? text.slice(0, most - 1) + "…" : text
}

/** number is one of six digits, with a sign where it has more. */
const number = n => {
	const short = Number(n.toPrecision(6))
	return Number.isInteger(n) || short === n ? String(n) : "≈" + short
}

/** own is a member of an object, and nothing that all objects have: names are whatever people call things. */
export const own = (of, name) => of != null && Object.hasOwn(of, name) ? of[name] : undefined

/** inputOf is what an input was to an epoch: taken or absent, and its value, which one that is absent has not. */
export const inputOf = (firing, name) => {
	const cut = own(firing.cut, name)
	return { ...cut, value: cut?.absent ? undefined : own(firing.inputs, name) }
}

/** list is names in a sentence. */
export const list = (names, last = "and") => names.length < 2 ? names.join("") :
	`${names.slice(0, -1).join(", ")} ${last} ${names[names.length - 1]}`
