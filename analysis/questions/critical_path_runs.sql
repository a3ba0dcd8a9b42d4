-- name: critical_path_runs
-- question: At which spans do tools and retrievals run?
-- grain: a run of a part of the traces
-- unit: keys are whole numbers for ids
-- params: $part_no and $part_count choose the traces whose key leaves that rest
-- nulls: none
-- identity: each run is in one part, once
select
    key_of(trace_id) as trace_key,
    key_of(span_id) as span_key,
    'tool' as part
from tool_runs
where key_of(trace_id) % $part_count = $part_no
union all
select
    key_of(trace_id) as trace_key,
    key_of(span_id) as span_key,
    'retrieval' as part
from retrievals
where key_of(trace_id) % $part_count = $part_no
