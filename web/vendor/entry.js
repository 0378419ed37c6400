// What the page takes from elsewhere, as one module: `make web` bundles it into vendor.js.
import { h } from "preact"
import htm from "htm"

export { render, Fragment } from "preact"
export { useEffect, useLayoutEffect, useRef, useState, useMemo } from "preact/hooks"
export { signal, computed, effect, batch, useSignal } from "@preact/signals"
export const html = htm.bind(h)
export { default as uPlot } from "uplot"
export { Graph, layout } from "./dagre.js"
