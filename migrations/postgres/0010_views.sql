-- What people read in SQL: times as timestamptz, records as json. The views are read with the rights of who asks, so
-- that readers see of them what tenant_reader gives them (0008).
CREATE VIEW graphs AS
SELECT d.tenant, d.graph, h.shard, d.revision,
    timestamptz 'epoch' + (nullif(d.updated, 0) / 1000) * interval '1 microsecond' AS updated_at,
    h.incarnation, h.epoch,
    timestamptz 'epoch' + (nullif(h.at, 0) / 1000) * interval '1 microsecond' AS checkpoint_at,
    (m.meta ->> 'last_fired')::timestamptz AS last_fired_at,
    coalesce((m.meta ->> 'paused')::boolean, false) AS paused
FROM declaration d
LEFT JOIN graph_head h USING (tenant, graph)
LEFT JOIN LATERAL (SELECT convert_from(nullif(h.meta, ''), 'UTF8')::json AS meta) m ON true;

CREATE VIEW state AS
SELECT h.tenant, h.graph, h.shard, c.kind, c.name, nullif(c.key, '') AS key, octet_length(c.data)::bigint AS bytes
FROM graph_head h JOIN cell c USING (state);

-- A string in a record may have a zero byte, which no text of the database can.
CREATE VIEW firings AS
SELECT h.tenant, h.graph, h.shard, f.incarnation, f.epoch, nullif(f.key, '') AS key,
    (r.record ->> 'at')::timestamptz AS fired_at, r.record ->> 'cause' AS cause,
    (r.record ->> 'ok')::boolean AS ok, r.record ->> 'error' AS error,
    (r.record ->> 'duration_us')::double precision AS duration_us, r.record
FROM graph_head h JOIN firing f USING (state)
CROSS JOIN LATERAL (SELECT replace(convert_from(f.data, 'UTF8'), '\u0000', '\ufffd')::json AS record) r;

CREATE VIEW dead_letters AS
SELECT h.tenant, h.graph, h.shard, d.id,
    timestamptz 'epoch' + (nullif(d.at, 0) / 1000) * interval '1 microsecond' AS failed_at,
    nullif(d.accumulator, '') AS accumulator, nullif(d.output, '') AS output, d.stage, d.code, d.reason,
    nullif(d.epoch, 0) AS epoch, nullif(d.key, '') AS key, nullif(d.position, '') AS position, d.events, d.attempts,
    nullif(d.replay_of, '') AS replay_of, nullif(d.firing_id, '') AS firing_id, d.size AS bytes, d.payload
FROM graph_head h JOIN dead_letter d USING (state);

CREATE VIEW counters AS
SELECT h.tenant, h.graph, h.shard, b.key AS accumulator,
    coalesce((b.value ->> 'filtered')::bigint, 0) AS filtered,
    coalesce((b.value ->> 'conflated')::bigint, 0) AS conflated,
    coalesce((b.value ->> 'dead_lettered')::bigint, 0) AS dead_lettered,
    coalesce((b.value ->> 'consumed')::bigint, 0) AS consumed,
    timestamptz 'epoch' + (nullif(h.at, 0) / 1000) * interval '1 microsecond' AS checkpoint_at
FROM graph_head h
CROSS JOIN LATERAL (SELECT convert_from(nullif(h.meta, ''), 'UTF8')::json -> 'books' AS books) m
CROSS JOIN LATERAL json_each(CASE json_typeof(m.books) WHEN 'object' THEN m.books END) b;

CREATE VIEW output_counters AS
SELECT h.tenant, h.graph, h.shard, e.key AS output,
    (e.value #>> '{}')::bigint AS emitted,
    coalesce((m.meta -> 'filtered' ->> e.key)::bigint, 0) AS filtered,
    coalesce((m.meta -> 'refused' ->> e.key)::bigint, 0) AS dead_lettered,
    timestamptz 'epoch' + (nullif(h.at, 0) / 1000) * interval '1 microsecond' AS checkpoint_at
FROM graph_head h
CROSS JOIN LATERAL (SELECT convert_from(nullif(h.meta, ''), 'UTF8')::json AS meta) m
CROSS JOIN LATERAL json_each(CASE json_typeof(m.meta -> 'emitted') WHEN 'object' THEN m.meta -> 'emitted' END) e;

DO $$
DECLARE
    name text;
BEGIN
    -- A release of the database that has no such views would show everybody what their owner sees.
    FOREACH name IN ARRAY ARRAY['graphs', 'state', 'firings', 'dead_letters', 'counters', 'output_counters'] LOOP
        IF current_setting('server_version_num')::integer >= 150000 THEN
            EXECUTE format('ALTER VIEW %I SET (security_invoker = true)', name);
        ELSE
            EXECUTE format('DROP VIEW %I', name);
        END IF;
    END LOOP;
    -- What 0008 has left open: where daemons are and how often declarations change is nobody's but theirs, and of
    -- what release the store is, readers of some tenant may know.
    FOREACH name IN ARRAY ARRAY['lease', 'declaration_change'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY readers ON %I USING ((SELECT has_table_privilege(%L::regclass, ''UPDATE'')))',
            name, name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['schema_migration', 'store_format'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY readers ON %I USING ((SELECT has_table_privilege(%L::regclass, ''UPDATE'')) '
            'OR (SELECT count(*) FROM reader_tenants()) > 0)', name, name);
    END LOOP;
END $$;
