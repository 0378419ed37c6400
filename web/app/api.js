// Requests to the daemon. Who asks is known by the session's cookie, which no script can read: the page has no token.
import { signal } from "./vendor.js"
import { leave, tenant } from "./route.js"

/** signedOut says that the daemon asks who is there, and why in words. */
export const signedOut = signal(null)

/** Refusal is an answer of the daemon that says no: a problem document. */
export class Refusal extends Error {
	constructor(status, problem) {
		super(problem.detail || problem.title || "the daemon answered with " + status)
		this.status = status
		this.code = problem.code ?? ""
		this.problem = problem
	}
}

/**
 * parse reads JSON. A whole number that no number of this language is stays as it is written, where the browser can do
 * that: what is shown is the value, and not one beside it.
 */
export const parse = text => !JSON.rawJSON || !/\d{16}/.test(text) ? JSON.parse(text) : JSON.parse(text, (_, value, from) =>
	typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(from?.source) ? JSON.rawJSON(from.source) : value)

/** ask sends a request, with a text of JSON where one is given, and is what the answer says. */
export const ask = async (method, path, { headers = {}, body, signal: ends } = {}) => {
	const all = body === undefined ? { ...headers } : { "Content-Type": "application/json", ...headers }
	if (tenant.value) all["Graphd-Tenant"] = tenant.value
	let answer
	try {
		answer = await fetch(path, { method, headers: all, body, credentials: "same-origin", cache: "no-store", signal: ends })
	} catch (error) {
		if (error.name === "AbortError") throw error
		throw new Refusal(0, { detail: "the daemon does not answer", code: "unreachable" })
	}
	let said = {}
	try {
		said = parse(await answer.text())
	} catch (error) {
		if (error.name === "AbortError") throw error
		if (answer.ok) throw new Refusal(0, { detail: "the daemon's answer has broken off", code: "unreachable" })
	}
	if (answer.ok) return said
	const no = new Refusal(answer.status, said)
	if (answer.status === 401 && path !== "/v1/login") signedOut.value = no.message
	throw no
}

/** graphPath is a route about a graph. */
export const graphPath = (graph, rest = "") => "/v1/graphs/" + encodeURIComponent(graph) + rest

/** signIn hands a token over, once, for a session; it is kept nowhere. */
export const signIn = token => ask("POST", "/v1/login", { headers: { Authorization: "Bearer " + token } })

/** signInAtIssuer leaves for the issuer of OpenID Connect, from where one comes back to the view that one has left. */
export const signInAtIssuer = async () => {
	const { url } = await ask("POST", "/v1/login/oidc")
	leave()
	location.assign(url)
}

export const signOut = () => ask("POST", "/v1/logout")
