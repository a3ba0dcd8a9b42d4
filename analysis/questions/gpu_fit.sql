-- name: gpu_fit
-- question: How does each type of GPU do with each model: batch, pace, latency, and what it costs?
-- grain: a pool, a model, a type of GPU and a currency
-- unit: calls; tokens; ps of calls in service; GPU-picoseconds; cost in currency; s and s per token
-- params: $cohort_ids are the selected cohorts; $since and $until in nanoseconds or null,
--   $first_quarter and $until_quarter in quarter-hours since 1970 or null; all half-open
-- nulls: gpu is null where it is not configured, cost and currency where there is no price, a
--   percentile where no call was measured, tokens where no call tells them
-- identity: GPU-seconds, cost and calls of all rows are those of the gpu lines of calls of law

-- Calls and tokens are counted where service begins, GPU-seconds where they pass, as in law.
-- edge_charges are the pieces of a window that does not begin or end on a quarter-hour.
with pieces as (
    select
        cohort_id,
        rate_id,
        prefill_ps + decode_ps as residence_ps,
        prefill_gpu_ps,
        decode_gpu_ps
    from charge_sums
    where
        ($first_quarter is null or quarter >= $first_quarter)
        and ($until_quarter is null or quarter < $until_quarter)
    union all
    select
        cohort_id,
        rate_id,
        picoseconds(prefill_s) + picoseconds(decode_s) as residence_ps,
        picoseconds(prefill_gpu_seconds) as prefill_gpu_ps,
        picoseconds(decode_gpu_seconds) as decode_gpu_ps
    from edge_charges
),

charged as (
    select
        p.pool,
        c.model,
        p.gpu,
        p.currency,
        max(p.gpus_per_replica) as gpus_per_replica,
        sum(i.residence_ps) as residence_ps,
        sum(i.prefill_gpu_ps) as prefill_gpu_ps,
        sum(i.decode_gpu_ps) as decode_gpu_ps,
        case
            when count(p.price_per_gpu_hour) = count(*)
                then sum_gpu_cost(i.prefill_gpu_ps, p.price_per_gpu_hour)
        end as prefill_cost,
        case
            when count(p.price_per_gpu_hour) = count(*)
                then sum_gpu_cost(i.decode_gpu_ps, p.price_per_gpu_hour)
        end as decode_cost
    from pieces as i
    inner join pools as p on i.rate_id = p.rate_id
    inner join cohorts as c on i.cohort_id = c.cohort_id
    where is_among(i.cohort_id, $cohort_ids)
    group by p.pool, c.model, p.gpu, p.currency
),

charged_singly as (
    select distinct p.call_no
    from charges as p
    inner join cohorts as c on p.cohort_id = c.cohort_id
    where c.timing_quality <> 'ok'
),

served as (
    select
        p.pool,
        c.model,
        p.gpu,
        p.currency,
        r.input_tokens,
        r.output_tokens,
        case when c.timing_quality = 'ok' then (r.first_token_at - r.arrived_at) / 1e9 end
            as ttft_s,
        case when c.timing_quality = 'ok' then (r.ended_at - r.first_token_at) / 1e9 end
            as decode_s,
        greatest(coalesce(r.n_choices, 1), 1) as choices
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    left join charged_singly as s on r.call_no = s.call_no
    inner join pools as p
        on
            c.pool = p.pool
            and coalesce(r.started_at, r.arrived_at, r.ended_at) >= p.effective_from
            and (
                p.effective_to is null
                or coalesce(r.started_at, r.arrived_at, r.ended_at) < p.effective_to
            )
    where
        is_among(r.cohort_id, $cohort_ids)
        and (c.timing_quality = 'ok' or s.call_no is not null)
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
),

counted as (
    select
        pool,
        model,
        gpu,
        currency,
        count(*) as call_count,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        percentile(ttft_s, 0.95) as ttft_p95_s,
        percentile(
            case when output_tokens > choices then decode_s end
            / (output_tokens * 1e0 / choices - 1),
            0.95
        ) as tpot_p95_s
    from served
    group by pool, model, gpu, currency
)

select
    coalesce(c.pool, n.pool) as pool,
    coalesce(c.model, n.model) as model,
    coalesce(c.gpu, n.gpu) as gpu,
    coalesce(c.currency, n.currency) as currency,
    c.gpus_per_replica,
    coalesce(n.call_count, 0) as call_count,
    n.input_tokens,
    n.output_tokens,
    n.ttft_p95_s,
    n.tpot_p95_s,
    cast(c.residence_ps as decimal(38, 0)) as residence_ps,
    cast(c.prefill_gpu_ps as decimal(38, 0)) as prefill_gpu_ps,
    cast(c.decode_gpu_ps as decimal(38, 0)) as decode_gpu_ps,
    c.prefill_cost,
    c.decode_cost
from charged as c
full outer join counted as n
    on
        c.pool = n.pool
        and c.model is not distinct from n.model
        and c.gpu is not distinct from n.gpu
        and c.currency is not distinct from n.currency
order by pool, model nulls last, gpu nulls last, currency nulls last
