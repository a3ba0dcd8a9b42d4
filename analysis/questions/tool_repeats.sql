-- name: tool_repeats
-- question: Which tools, retrievals and embeddings were asked the same again and found the same?
-- grain: a kind and a name: the tool, the source of the retrieval, the model of the embedding
-- unit: counts in runs; run_s, saved_s in s; GPU-seconds and cost in currency of embeddings
-- params: $since and $until in nanoseconds since 1970, half-open, of the begin, may be null
-- nulls: saved_s where no repeat tells its times; saved_gpu_seconds and saved_cost where no model
--   worked, no price is known or several currencies are
-- identity: run_count = computed_count + repeat_count + changed_count + unseen_count +
--   unknown_count: another result, a result that is not told, arguments that are not told

-- The cache is empty where the window begins, and is of one tenant: that of the trace's calls. The
-- first run that did not fail fills it when it ends.
with trace_tenants as (
    select
        r.trace_id,
        min(c.tenant) as tenant
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    where c.tenant is not null and r.trace_id is not null
    group by r.trace_id
),

runs as (
    select
        'tool' as kind,
        t.tool as name,
        n.tenant,
        t.arguments_hash as asked,
        t.result_hash as found,
        t.status,
        t.trace_id || t.span_id as run_id,
        coalesce(t.started_at, t.ended_at) as begun_at,
        t.ended_at,
        cast(null as bigint) as call_no
    from tool_runs as t
    left join trace_tenants as n on t.trace_id = n.trace_id
    where t.arguments_hash is not null
    union all
    select
        'retrieval' as kind,
        v.source as name,
        n.tenant,
        v.query_hash as asked,
        v.result_hash as found,
        v.status,
        v.trace_id || v.span_id as run_id,
        coalesce(v.started_at, v.ended_at) as begun_at,
        v.ended_at,
        null as call_no
    from retrievals as v
    left join trace_tenants as n on v.trace_id = n.trace_id
    where v.query_hash is not null
    union all
    select
        'embedding' as kind,
        c.model as name,
        c.tenant,
        r.prompt_hash as asked,
        r.prompt_hash as found,
        c.status,
        r.call_id as run_id,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at,
        r.call_no
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    where
        c.operation = 'embeddings'
        and c.origin = 'production'
        and r.prompt_hash is not null
),

selected as (
    select *
    from runs
    where
        begun_at is not null
        and ($since is null or begun_at >= $since)
        and ($until is null or begun_at < $until)
),

asked_again as (
    select
        kind,
        name,
        tenant,
        asked,
        row_number() over (order by kind, name, tenant, asked) as group_no
    from selected
    group by kind, name, tenant, asked
    having count(*) > 1
)

select
    a.group_no,
    a.kind,
    a.name,
    s.found,
    s.status = 'ok' as is_ok,
    s.begun_at,
    greatest(s.ended_at, s.begun_at) as ended_at,
    s.call_no
from selected as s
inner join asked_again as a
    on
        s.kind = a.kind
        and s.asked = a.asked
        and s.name is not distinct from a.name
        and s.tenant is not distinct from a.tenant
order by a.group_no, s.begun_at, s.run_id
