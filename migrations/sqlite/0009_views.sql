-- What people read in SQL: times as text in UTC, records as JSON.
CREATE VIEW graphs AS
SELECT d.tenant, d.graph, h.shard, d.revision,
    strftime('%Y-%m-%dT%H:%M:%fZ', nullif(d.updated, 0) / 1e9, 'unixepoch') AS updated_at,
    h.incarnation, h.epoch,
    strftime('%Y-%m-%dT%H:%M:%fZ', nullif(h.at, 0) / 1e9, 'unixepoch') AS checkpoint_at,
    json_extract(CAST(nullif(h.meta, x'') AS TEXT), '$.last_fired') AS last_fired_at,
    coalesce(json_extract(CAST(nullif(h.meta, x'') AS TEXT), '$.paused'), 0) AS paused
FROM declaration d LEFT JOIN graph_head h ON h.tenant = d.tenant AND h.graph = d.graph;

CREATE VIEW state AS
SELECT h.tenant, h.graph, h.shard, c.kind, c.name, nullif(c.key, '') AS key, length(c.data) AS bytes
FROM graph_head h JOIN cell c ON c.state = h.state;

CREATE VIEW firings AS
SELECT h.tenant, h.graph, h.shard, f.incarnation, f.epoch, nullif(f.key, '') AS key,
    json_extract(CAST(f.data AS TEXT), '$.at') AS fired_at,
    json_extract(CAST(f.data AS TEXT), '$.cause') AS cause,
    json_extract(CAST(f.data AS TEXT), '$.ok') AS ok,
    json_extract(CAST(f.data AS TEXT), '$.error') AS error,
    json_extract(CAST(f.data AS TEXT), '$.duration_us') AS duration_us,
    CAST(f.data AS TEXT) AS record
FROM graph_head h JOIN firing f ON f.state = h.state;

CREATE VIEW dead_letters AS
SELECT h.tenant, h.graph, h.shard, d.id,
    strftime('%Y-%m-%dT%H:%M:%fZ', nullif(d.at, 0) / 1e9, 'unixepoch') AS failed_at,
    nullif(d.accumulator, '') AS accumulator, nullif(d.output, '') AS output, d.stage, d.code, d.reason,
    nullif(d.epoch, 0) AS epoch, nullif(d.key, '') AS key, nullif(d.position, '') AS position, d.events, d.attempts,
    nullif(d.replay_of, '') AS replay_of, nullif(d.firing_id, '') AS firing_id, d.size AS bytes, d.payload
FROM graph_head h JOIN dead_letter d ON d.state = h.state;

CREATE VIEW counters AS
SELECT h.tenant, h.graph, h.shard, b.key AS accumulator,
    coalesce(json_extract(b.value, '$.filtered'), 0) AS filtered,
    coalesce(json_extract(b.value, '$.conflated'), 0) AS conflated,
    coalesce(json_extract(b.value, '$.dead_lettered'), 0) AS dead_lettered,
    coalesce(json_extract(b.value, '$.consumed'), 0) AS consumed,
    strftime('%Y-%m-%dT%H:%M:%fZ', nullif(h.at, 0) / 1e9, 'unixepoch') AS checkpoint_at
FROM graph_head h JOIN json_each(CAST(nullif(h.meta, x'') AS TEXT), '$.books') b ON b.type = 'object';

CREATE VIEW output_counters AS
SELECT h.tenant, h.graph, h.shard, e.key AS output, e.value AS emitted,
    coalesce(json_extract(CAST(h.meta AS TEXT), '$.filtered.' || e.key), 0) AS filtered,
    coalesce(json_extract(CAST(h.meta AS TEXT), '$.refused.' || e.key), 0) AS dead_lettered,
    strftime('%Y-%m-%dT%H:%M:%fZ', nullif(h.at, 0) / 1e9, 'unixepoch') AS checkpoint_at
FROM graph_head h JOIN json_each(CAST(nullif(h.meta, x'') AS TEXT), '$.emitted') e ON e.type = 'integer';
