// Every view is an address: what is shown follows from the path and the query alone.
import { signal, computed, html } from "./vendor.js"

const read = () => ({ path: location.pathname, query: new URLSearchParams(location.search) })

/** place is where the page is. */
export const place = signal(read())
addEventListener("popstate", () => { place.value = read() })

/** view is the view that an address stands for. */
export const view = computed(() => {
	const [, graphs, name] = place.value.path.split("/")
	if (graphs === "graphs" && name) return { name: "graph", graph: decodeURIComponent(name) }
	return { name: "overview" }
})

/** tenant is the one that the address chooses, "" for the caller's own. */
export const tenant = computed(() => place.value.query.get("tenant") ?? "")

/** go leads to an address of the page. */
export const go = (to, replace = false) => {
	const was = place.value.path
	history[replace ? "replaceState" : "pushState"](null, "", to)
	place.value = read()
	if (place.value.path !== was) scrollTo(0, 0)
}

const left = "graphd left"

/** leave keeps the address while the browser is at another site, to which this tab goes, and comeBack goes there again. */
export const leave = () => {
	try { sessionStorage.setItem(left, location.pathname + location.search) } catch { /* then one comes back to the overview */ }
}

export const comeBack = () => {
	try {
		const to = sessionStorage.getItem(left)
		sessionStorage.removeItem(left)
		if (to?.startsWith("/") && location.pathname + location.search === "/") go(to, true)
	} catch { /* as above */ }
}

/** query is a member of the address's query, as a text. */
export const query = (name, otherwise = "") => place.value.query.get(name) ?? otherwise

/** set changes members of the query; "" takes one out. Typing replaces the address, choosing adds one. */
export const set = (members, replace = false) => {
	const q = new URLSearchParams(place.value.query)
	for (const [name, value] of Object.entries(members)) {
		if (value === "" || value == null) q.delete(name)
		else q.set(name, value)
	}
	const text = q.toString()
	go(place.value.path + (text && "?" + text), replace)
}

/** to is the address of a view, in the tenant that is looked at. */
export const to = (path, members = {}) => {
	const q = new URLSearchParams()
	if (tenant.value) q.set("tenant", tenant.value)
	for (const [name, value] of Object.entries(members)) if (value) q.set(name, value)
	const text = q.toString()
	return path + (text && "?" + text)
}

export const toGraph = (name, members) => to("/graphs/" + encodeURIComponent(name), members)

/** Link is a link within the page. */
export const Link = ({ href, children, ...rest }) => {
	const follow = event => {
		if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
		event.preventDefault()
		go(href)
	}
	return html`<a href=${href} onClick=${follow} ...${rest}>${children}</a>`
}
