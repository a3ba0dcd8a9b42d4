-- name: critical_path_runs
-- question: At which spans do tools and retrievals run, asked for what, and what did they find?
-- grain: a run of a part of the traces
-- unit: keys are whole numbers for ids and hashes
-- params: $part_no and $part_count choose the traces whose key leaves that rest
-- nulls: asked_key and found_key where that is not told
-- identity: each run is in one part, once
select
    key_of(trace_id) as trace_key,
    key_of(span_id) as span_key,
    'tool' as part,
    status = 'ok' as is_whole,
    case when arguments_hash is not null then key_of(arguments_hash) end as asked_key,
    case when result_hash is not null then key_of(result_hash) end as found_key
from tool_runs
where key_of(trace_id) % $part_count = $part_no
union all
select
    key_of(trace_id) as trace_key,
    key_of(span_id) as span_key,
    'retrieval' as part,
    status = 'ok' as is_whole,
    case when query_hash is not null then key_of(query_hash) end as asked_key,
    case when result_hash is not null then key_of(result_hash) end as found_key
from retrievals
where key_of(trace_id) % $part_count = $part_no
