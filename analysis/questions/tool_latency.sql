-- name: tool_latency
-- question: How long do tools and retrievals take?
-- grain: a kind (tool or retrieval) and a name: the tool, the source of the retrieval
-- unit: runs; s
-- params: $since and $until in nanoseconds since 1970, half-open, of the begin, may be null; $kind
--   and $name select one, null selects each
-- nulls: name where it is not told; a figure in s where no run tells both of its ends in order
-- identity: known_count + unknown_count = run_count; failed_count <= run_count; p50_s <= p95_s <=
--   p99_s <= longest_s; known_count times mean_s is total_s

-- A run that failed took its time too and is in the percentiles.
with runs as (
    select
        'tool' as kind,
        tool as name,
        status,
        started_at,
        ended_at
    from tool_runs
    union all
    select
        'retrieval' as kind,
        source as name,
        status,
        started_at,
        ended_at
    from retrievals
),

selected as (
    select
        kind,
        name,
        status,
        case when ended_at >= started_at then ended_at - started_at end as run_ns
    from runs
    where
        ($since is null or coalesce(started_at, ended_at) >= $since)
        and ($until is null or coalesce(started_at, ended_at) < $until)
        and ($kind is null or kind = $kind)
        and ($name is null or name = $name)
)

select
    kind,
    name,
    count(*) as run_count,
    count(case when status <> 'ok' then 1 end) as failed_count,
    count(run_ns) as known_count,
    count(*) - count(run_ns) as unknown_count,
    percentile(run_ns / 1e9, 0.5) as p50_s,
    percentile(run_ns / 1e9, 0.95) as p95_s,
    percentile(run_ns / 1e9, 0.99) as p99_s,
    max(run_ns) / 1e9 as longest_s,
    cast(sum(run_ns) as bigint) / 1e9 / nullif(count(run_ns), 0) as mean_s,
    cast(sum(run_ns) as bigint) / 1e9 as total_s
from selected
group by kind, name
order by total_s desc nulls last, kind asc, name asc nulls last
