-- Views, each as it was told, that end between $since and $until and have the response id or the
-- token counts of a changed call. `observer` is who told the view; `is_decided` that a changed
-- call overlaps it, so that its links are decided anew.
create or replace temp table link_evidence as
with combinations as (
    select distinct
        digest,
        service,
        model,
        model_requested,
        pool_reported,
        timing_source
    from cohorts
    where origin = 'production' and timing_quality <> 'invalid'
),

apart as (
    select
        r.call_id,
        r.trace_id,
        r.response_id,
        r.input_hash,
        r.replica,
        r.input_tokens,
        r.output_tokens,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at,
        c.digest
    from call_rows as r
    semi join link_candidates as k on r.rowid = k.row_no
    inner join cohorts as c on r.cohort_id = c.cohort_id
    anti join call_views as v on r.call_id = v.counted_as
    union all
    select
        v.call_id,
        v.trace_id,
        v.response_id,
        v.input_hash,
        v.replica,
        v.uncached_input_tokens + coalesce(v.cache_read_tokens, 0)
        + coalesce(v.cache_write_tokens, 0) as input_tokens,
        v.visible_output_tokens + coalesce(v.reasoning_tokens, 0) as output_tokens,
        coalesce(v.arrived_at, v.started_at) as begun_at,
        v.ended_at,
        v.cohort_digest as digest
    from call_views as v
    where v.ended_at between $since and $until
),

told as (
    select
        a.call_id,
        a.trace_id,
        a.response_id,
        a.input_hash,
        a.replica,
        c.pool_reported,
        a.input_tokens,
        a.output_tokens,
        a.begun_at,
        a.ended_at,
        c.model,
        c.model_requested,
        c.timing_source = 'engine' as is_engine,
        concat_ws(
            '|', coalesce(c.service, ''), c.timing_source = 'engine', a.trace_id is null
        ) as observer
    from apart as a
    inner join combinations as c on a.digest = c.digest
    where a.ended_at >= a.begun_at and a.ended_at - a.begun_at <= $longest_ns
),

changed_ids as (
    select
        response_id,
        min(begun_at) as begun_at,
        max(ended_at) as ended_at
    from changed_calls
    group by response_id
),

changed_counts as (
    select
        input_tokens,
        output_tokens,
        min(begun_at) as begun_at,
        max(ended_at) as ended_at
    from changed_calls
    group by input_tokens, output_tokens
)

select
    t.*,
    coalesce(
        t.begun_at <= i.ended_at + $slack_ns and t.ended_at >= i.begun_at - $slack_ns, false
    ) or coalesce(t.begun_at <= n.ended_at and t.ended_at >= n.begun_at, false) as is_decided
from told as t
left join changed_ids as i on t.response_id = i.response_id
left join changed_counts as n
    on t.input_tokens = n.input_tokens and t.output_tokens = n.output_tokens
where i.response_id is not null or n.input_tokens is not null;
