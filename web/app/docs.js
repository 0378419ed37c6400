// The documentation that the daemon serves: its theme, and the search in it. A page is whole without this module.

const chosen = (() => { try { return localStorage.getItem("theme") } catch { return null } })()
if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen

const find = document.getElementById("_find")
const found = document.getElementById("_found")
const count = document.getElementById("_count")
const contents = document.getElementById("_contents")
const most = 30
let sections = null

/** read fetches what is searched, when something is first searched for. */
function read() {
	sections ??= fetch("/docs/search.json").then(r => {
		if (!r.ok) throw new Error("it cannot be read")
		return r.json()
	}).then(all => all.map(s => ({ ...s, low: s.text.toLowerCase(), head: (s.heading + " " + s.title).toLowerCase() })))
	sections.catch(() => { sections = null })
	return sections
}

/** rank is how well a section fits all of the words; 0 where one of them is not in it. */
function rank(section, words) {
	let sum = 0
	for (const word of words) {
		const at = section.head.includes(word) ? 10 : 0
		const times = section.low.split(word).length - 1
		if (!at && !times) return 0
		sum += at + Math.min(times, 5)
	}
	return sum
}

/** excerpt is the text around the first of the words. */
function excerpt(section, words) {
	const at = Math.max(0, Math.min(...words.map(w => section.low.indexOf(w)).filter(i => i >= 0), section.text.length) - 40)
	return (at > 0 ? "…" : "") + section.text.slice(at, at + 140) + (at + 140 < section.text.length ? "…" : "")
}

function shown(section, words) {
	const item = document.createElement("li"), link = document.createElement("a"), about = document.createElement("small")
	link.href = "/docs/" + section.page + (section.id ? "#" + section.id : "")
	link.textContent = section.heading === section.title ? section.title : section.title + " › " + section.heading
	about.textContent = excerpt(section, words)
	item.append(link, about)
	return item
}

async function search() {
	const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
	const asked = find.value
	if (!words.length) {
		found.hidden = true
		contents.hidden = false
		count.textContent = ""
		return
	}
	try {
		const all = await read()
		if (find.value !== asked) return
		const fits = all.map(s => [rank(s, words), s]).filter(([n]) => n > 0).sort(([a], [b]) => b - a)
		found.replaceChildren(...fits.slice(0, most).map(([, s]) => shown(s, words)))
		found.hidden = false
		contents.hidden = true
		count.textContent = fits.length === 0 ? "Nothing has all of these words" :
			fits.length > most ? `The best ${most} of ${fits.length} sections` :
			fits.length === 1 ? "1 section" : `${fits.length} sections`
	} catch (no) {
		count.textContent = "The search does not work: " + no.message
	}
}

/** reach lets what can be scrolled sideways be scrolled by keys. */
function reach() {
	for (const wide of document.querySelectorAll("main :is(pre, table)")) {
		if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0
		else wide.removeAttribute("tabindex")
	}
}

/** lead goes on to the page that has a code, where the page of codes has it not. */
async function lead() {
	const id = location.hash.slice(1)
	if (location.pathname !== "/docs/codes" || !id || document.getElementById(id)) return
	for (const page of ["diagnostics", "runbook", "configuration"]) {
		const text = await fetch("/docs/" + page).then(r => r.ok ? r.text() : "", () => "")
		if (new DOMParser().parseFromString(text, "text/html").getElementById(id)) return location.replace(`/docs/${page}#${id}`)
	}
}

reach()
addEventListener("resize", reach)
lead()
addEventListener("hashchange", lead)
find.addEventListener("input", search)
document.addEventListener("keydown", e => {
	if (e.key === "/" && document.activeElement !== find) {
		e.preventDefault()
		find.focus()
	}
})
