// dagre is published as one module that exports itself whole.
import * as dagre from "@dagrejs/dagre"

const whole = dagre.default ?? dagre
export const layout = whole.layout
export const Graph = whole.graphlib.Graph
