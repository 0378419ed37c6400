"""A client of the daemon, made by openapi-python-client of its document. Arguments: the address, the token."""

import io
import json
import sys

from graphd_api import AuthenticatedClient
from graphd_api.api.accumulators import push_events
from graphd_api.api.graphs import apply_graph, get_graph
from graphd_api.api.inspect import get_state, list_firings
from graphd_api.api.operate import fire
from graphd_api.models import ApplyResult, FireRequest, FireResult, FiringPage, Problem, PushResult, State
from graphd_api.types import File
from websockets.sync.client import connect
from websockets.typing import Subprotocol

DECLARATION = b"""graph: typed
accumulators:
  quotes: { where: event.bid > 0 }
nodes:
  spread: { expr: quotes.ask - quotes.bid }
outputs:
  spreads: { from: spread, sink: { drop: {} } }
"""

base, token = sys.argv[1:]
client = AuthenticatedClient(base_url=base, token=token)

# Apply: the declaration goes as it is.
applied = apply_graph.sync("typed", client=client, body=File(payload=io.BytesIO(DECLARATION)))
assert isinstance(applied, ApplyResult), applied
assert applied.created

# Subscribe, push, and hear of the output.
with connect(
    base.replace("http", "ws", 1) + "/v1/ws/graphs/typed/reactor",
    subprotocols=[Subprotocol("graphd.v1+json")],
    additional_headers={"Authorization": f"Bearer {token}"},
    proxy=None,
) as watcher:
    assert json.loads(watcher.recv(30))["type"] == "hello"
    watcher.send(json.dumps({"type": "subscribe", "id": 1, "topics": ["outputs"]}))
    assert json.loads(watcher.recv(30))["type"] == "result"
    pushed = push_events.sync(
        "typed", "quotes", client=client, body=[{"bid": 100, "ask": 101.5}, {"bid": -1}], idempotency_key="smoke-1"
    )
    assert isinstance(pushed, PushResult), pushed
    assert (pushed.accepted, pushed.filtered, pushed.rejected) == (2, 1, [])
    frame = json.loads(watcher.recv(30))
    assert (frame["type"], frame["output"], frame["value"]) == ("output", "spreads", 1.5), frame

# Fire, and look inside.
request = FireRequest.from_dict({"mode": "with", "cache": {"quotes": {"bid": 1, "ask": 4}}})
fired = fire.sync("typed", client=client, body=request)
assert isinstance(fired, FireResult), fired
assert fired.ok
state = get_state.sync("typed", client=client)
assert isinstance(state, State), state
assert state.to_dict()["nodes"]["spread"] == 3
firings = list_firings.sync("typed", client=client, limit=1)
assert isinstance(firings, FiringPage), firings
assert firings.items[0].cause == "with"

# A refusal is a problem with a code.
missing = get_graph.sync("none", client=client)
assert isinstance(missing, Problem), missing
assert (missing.code, missing.status) == ("graph_not_found", 404)
print("smoke ok")
