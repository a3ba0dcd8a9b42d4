-- name: pairs
-- question: Which views were joined into one call without a trace in common, and by which rule?
-- grain: a view of such a call, the views of one call together, those joined by resemblance first
-- unit: instants in nanoseconds since 1970, tokens, fitting_count in views
-- params: $since and $until in nanoseconds since 1970, half-open, of the view's end, may be null;
--   $pairing selects one rule, null selects each; $most_rows at most
-- nulls: a column is null where the view does not tell it
-- identity: the views of one call_id are two or more, and one of them has is_innermost
with combinations as (
    select distinct
        digest,
        service,
        endpoint,
        team,
        model,
        timing_source
    from cohorts
),

selected as (
    select
        v.rule as pairing,
        v.counted_as as call_id,
        v.call_id as view_id,
        v.call_id = v.counted_as as is_innermost,
        v.trace_id,
        v.span_id,
        c.service,
        c.endpoint,
        c.team,
        c.model,
        c.timing_source,
        coalesce(v.arrived_at, v.started_at) as begun_at,
        v.ended_at,
        v.uncached_input_tokens + coalesce(v.cache_read_tokens, 0)
        + coalesce(v.cache_write_tokens, 0) as input_tokens,
        v.visible_output_tokens + coalesce(v.reasoning_tokens, 0) as output_tokens,
        v.response_id
    from call_views as v
    inner join combinations as c on v.cohort_digest = c.digest
    where
        ($since is null or v.ended_at >= $since)
        and ($until is null or v.ended_at < $until)
        and ($pairing is null or v.rule = $pairing)
)

select
    pairing,
    call_id,
    view_id,
    is_innermost,
    trace_id,
    span_id,
    service,
    endpoint,
    team,
    model,
    timing_source,
    begun_at,
    ended_at,
    input_tokens,
    output_tokens,
    response_id,
    count(*) over () as fitting_count
from selected
order by
    pairing asc,
    call_id asc,
    begun_at asc,
    view_id asc
limit $most_rows
