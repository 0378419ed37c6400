"""What schemathesis cannot know of a daemon: which graphs there are, and what a declaration looks like."""

import json
import os
import zlib

import schemathesis
from schemathesis.generation import GenerationMode

GRAPHS = {
    "ticks": {
        "graph": "ticks",
        "accumulators": {"quotes": {"where": "event.bid > 0"}},
        "nodes": {"spread": {"expr": "quotes.ask - quotes.bid"}},
        "outputs": {"spreads": {"from": "spread", "sink": {"drop": {}}}},
    },
    "keyed": {
        "graph": "keyed",
        "accumulators": {"quotes": {"schema": {"type": "object", "required": ["symbol"]}}},
        "reactor": {"key": "event.symbol"},
        "nodes": {"last": {"expr": "quotes"}},
        "outputs": {"spreads": {"from": "last", "sink": {"drop": {}}}},
    },
}
OWN = os.environ.get("GRAPHD_TOKEN", "").split("_")  # gd, id, secret, sum


def chance(case, what, percent):
    """Whether something is done to a case: the same for the same case."""
    seen = f"{what} {case.operation.label} {case.path_parameters} {case.query} {case.body!r}"
    return zlib.crc32(seen.encode()) % 100 < percent


def valid(case):
    """Whether the case is meant to be right: of a wrong one nothing is mended."""
    return case.meta is None or case.meta.generation.mode == GenerationMode.POSITIVE


@schemathesis.hook
def map_case(context, case):
    operation = case.operation.definition.raw.get("operationId")
    path = case.path_parameters or {}
    if operation == "revokeToken" and len(OWN) == 4 and path.get("token") == OWN[1]:
        path["token"] = "none"  # or what follows would test nothing
    if not valid(case):
        return case
    if "graph" in path and chance(case, "graph", 80):
        names = sorted(GRAPHS)
        path["graph"] = names[zlib.crc32(repr(case.body).encode()) % len(names)]
    if "accumulator" in path and chance(case, "accumulator", 80):
        path["accumulator"] = "quotes"
    if operation == "applyGraph" and chance(case, "apply", 80) and path["graph"] in GRAPHS:
        case.body = GRAPHS[path["graph"]]
        case.media_type = "application/json"
    if operation == "pushEvents" and case.media_type == "application/json" and chance(case, "push", 30):
        case.body = [{"symbol": "A", "bid": 1, "ask": 2}, {"symbol": "B", "bid": -1}, case.body]
    if isinstance(case.body, dict) and "confirm" in case.body and chance(case, "confirm", 70):
        case.body["confirm"] = path["graph"]
    if operation == "drainMember" and isinstance(case.body, dict):
        case.body["undo"] = True  # a daemon that is drained runs no graphs
    return case


@schemathesis.deserializer("application/x-ndjson")
def ndjson(context, response):
    """The schema is that of a line: the last one, or one that is right where there is none."""
    lines = response.content.splitlines()
    if not lines:
        lines = [b'{"seq":1,"prev":"%s","sum":"%s","entry":{"kind":"intent","at":"2026-11-23T00:00:00Z","tenant":"*",'
                 b'"operation":"none"}}' % (b"0" * 64, b"0" * 64)]
    return json.loads(lines[-1])
