-- name: known_hashes
-- question: How many calls, tool runs and retrievals can be compared with each other?
-- grain: one row for the calls of production, one for tool runs, one for retrievals
-- unit: row_count, asked_count (what was asked is known) and answered_count in rows
-- params: $since and $until in nanoseconds since 1970, half-open, of the begin, may be null
-- nulls: none
-- identity: asked_count and answered_count are at most row_count
select
    'calls' as kind,
    count(*) as row_count,
    count(r.prompt_hash) as asked_count,
    count(r.output_hash) as answered_count
from call_rows as r
inner join cohorts as c on r.cohort_id = c.cohort_id
where
    c.origin = 'production'
    and ($since is null or coalesce(r.arrived_at, r.started_at) >= $since)
    and ($until is null or coalesce(r.arrived_at, r.started_at) < $until)
union all
select
    'tool runs' as kind,
    count(*) as row_count,
    count(t.arguments_hash) as asked_count,
    count(t.result_hash) as answered_count
from tool_runs as t
where
    ($since is null or coalesce(t.started_at, t.ended_at) >= $since)
    and ($until is null or coalesce(t.started_at, t.ended_at) < $until)
union all
select
    'retrievals' as kind,
    count(*) as row_count,
    count(v.query_hash) as asked_count,
    count(v.result_hash) as answered_count
from retrievals as v
where
    ($since is null or coalesce(v.started_at, v.ended_at) >= $since)
    and ($until is null or coalesce(v.started_at, v.ended_at) < $until)
