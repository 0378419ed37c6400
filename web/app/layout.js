// Arranges large graphs beside the page, which goes on meanwhile.
import { arrange } from "./arrange.js"

onmessage = ({ data }) => postMessage(arrange(data.plan, data.accumulators))
