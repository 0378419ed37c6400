// The page: which view an address shows, and who may see it.
import { html, render } from "./vendor.js"
import { view } from "./route.js"
import { signedOut } from "./api.js"
import { useTheme } from "./parts.js"
import { SignIn } from "./signin.js"
import { Overview } from "./overview.js"
import { GraphPage } from "./graph.js"

const Page = () => {
	useTheme()
	const v = view.value
	if (signedOut.value) return html`<${SignIn} />`
	switch (v.name) {
	case "graph":
		return html`<${GraphPage} key=${v.graph} name=${v.graph} />`
	}
	return html`<${Overview} />`
}

render(html`<${Page} />`, document.getElementById("root"))
