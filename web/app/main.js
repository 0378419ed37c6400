// The page: which view an address shows, and who may see it.
import { html, render, useEffect, useRef } from "./vendor.js"
import { comeBack, place, query, tenant, view } from "./route.js"
import { signedOut } from "./api.js"
import { learn } from "./who.js"
import { useTheme } from "./parts.js"
import { SignIn } from "./signin.js"
import { Overview } from "./overview.js"
import { GraphPage } from "./graph.js"
import { NewGraph } from "./editor.js"

const Page = () => {
	useTheme()
	const of = tenant.value, known = !signedOut.value
	useEffect(() => { if (known) learn() }, [of, known])
	const v = view.value, path = place.value.path, was = useRef(path)
	useEffect(() => { // once the view that one goes to is there, so that whoever does not see it is told where they are
		if (was.current !== path) document.querySelector("h1")?.focus({ preventScroll: true })
		was.current = path
	}, [path])
	if (signedOut.value) return html`<${SignIn} />`
	switch (v.name) {
	case "graph":
		return html`<${GraphPage} key=${v.graph} name=${v.graph} />`
	}
	return query("new") === "1" ? html`<${NewGraph} />` : html`<${Overview} />`
}

if (!signedOut.value) comeBack()
render(html`<${Page} />`, document.getElementById("root"))
