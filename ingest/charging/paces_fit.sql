-- Seconds and tokens of the measured calls of each pool that has calls without a first token or
-- without an end; by model, and over all models (is_pool). Sums are exact, whatever the order. A
-- pace is that of one sequence, so a call of several choices is not measured.
with estimated_pools as (
    select distinct c.pool
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    where
        (r.first_token_at is null or r.ended_at is null)
        and c.pool is not null
        and c.timing_quality <> 'invalid'
),

measured as (
    select
        c.pool,
        c.model,
        r.first_token_at - coalesce(r.started_at, r.arrived_at) as prefill_ns,
        r.ended_at - r.first_token_at as decode_ns,
        r.uncached_input_tokens,
        r.output_tokens
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    semi join estimated_pools as e on c.pool = e.pool
    where
        c.timing_quality = 'ok'
        and c.timing_source in ('engine', 'stream')
        and coalesce(r.started_at, r.arrived_at) is not null
        and r.first_token_at is not null
        and r.ended_at is not null
        and r.uncached_input_tokens is not null
        and r.output_tokens > 0
        and coalesce(r.n_choices, 1) <= 1
)

select
    pool,
    model,
    grouping(model) = 1 as is_pool,
    cast(sum(prefill_ns) as double) as prefill_ns,
    cast(sum(decode_ns) as double) as decode_ns,
    cast(sum(uncached_input_tokens) as double) as prefill_tokens,
    cast(sum(output_tokens) as double) as decode_tokens
from measured
group by grouping sets ((pool, model), (pool))
order by pool, is_pool, model nulls first;
