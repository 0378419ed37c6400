// The way in where the daemon asks for a token. The token goes to the daemon, once; what opens then is a cookie.
import { html, useRef, useState } from "./vendor.js"
import { ask, signIn, signInAtIssuer, signedOut } from "./api.js"
import { session, Top } from "./parts.js"
import { sentence } from "./format.js"

const issuer = () => "issuer" in document.documentElement.dataset

export const SignIn = () => {
	const field = useRef()
	const [told, tell] = useState("")
	const enter = async event => {
		event.preventDefault()
		const token = field.current.value.trim()
		field.current.value = ""
		try {
			await signIn(token)
			await ask("POST", "/v1/ws-tickets").catch(no => { // as each view does first
				throw no.status !== 401 ? no : Error("The token is good, but this browser does not keep the session: it keeps none " +
					`of ${location.protocol}//${location.host}. Open the daemon over https, or as localhost.`)
			})
			session.value = true
			signedOut.value = null
		} catch (no) {
			tell(no.message)
			field.current.focus()
		}
	}
	const leave = async () => {
		try { await signInAtIssuer() } catch (no) { tell(no.message) }
	}
	return html`<${Top} />
	<main class="signin">
		<h1 tabindex="-1">Sign in</h1>
		<p>This daemon asks who is there. The token goes to the daemon and is kept nowhere else; the session lasts eight
			hours.</p>
		<p class="dim" role="status">${sentence(signedOut.value)}</p>
		<form onSubmit=${enter}>
			<label for="token">Token</label>
			<input id="token" ref=${field} type="password" autocomplete="off" required autofocus />
			<p class="bad" role="alert">${told}</p>
			<button class="main">Sign in</button>
		</form>
		${issuer() && html`<p class="dim">or</p>
			<button onClick=${leave}>Sign in with OpenID Connect</button>`}
		<p class="dim">No token yet? <code>graphd token create NAME --role viewer</code> makes one,${" "}
			<code>graphd token bootstrap</code> the first.</p>
	</main>`
}
