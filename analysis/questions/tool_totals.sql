-- name: tool_totals
-- question: How often did each tool, retrieval and embedding run, and how long did that take?
-- grain: a kind and a name: the tool, the source of the retrieval, the model of the embedding
-- unit: counts in runs; run_s in s
-- params: $since and $until in nanoseconds since 1970, half-open, of the begin, may be null
-- nulls: run_s is null where no run tells its times
-- identity: run_count is all runs of the window that tell a time; asked_count are those of them
--   that tell what was asked
with runs as (
    select
        'tool' as kind,
        t.tool as name,
        t.arguments_hash as asked,
        coalesce(t.started_at, t.ended_at) as begun_at,
        t.ended_at - t.started_at as run_ns
    from tool_runs as t
    union all
    select
        'retrieval' as kind,
        v.source as name,
        v.query_hash as asked,
        coalesce(v.started_at, v.ended_at) as begun_at,
        v.ended_at - v.started_at as run_ns
    from retrievals as v
    union all
    select
        'embedding' as kind,
        c.model as name,
        r.prompt_hash as asked,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at - coalesce(r.arrived_at, r.started_at) as run_ns
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    where c.operation = 'embeddings' and c.origin = 'production'
)

select
    kind,
    name,
    count(*) as run_count,
    count(asked) as asked_count,
    cast(sum(greatest(run_ns, 0)) as double) / 1e9 as run_s
from runs
where
    begun_at is not null
    and ($since is null or begun_at >= $since)
    and ($until is null or begun_at < $until)
group by kind, name
order by kind, name nulls last
