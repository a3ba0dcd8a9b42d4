-- name: law
-- question: What did each group of calls cost, by which letters of C = p N (Tp + L Td) / B?
-- grain: a group and its basis (gpu, token, plan); idle per pool; what replays used of a pool of
--   production, as unattributed without N; one line of unpriced calls
-- unit: N calls; Tp_s s; L_tokens tokens; Td_s s per token; B calls at once per GPU; cost in
--   currency
-- params: $since and $until in nanoseconds or null, $first_quarter and $until_quarter in
--   quarter-hours since 1970 or null; all half-open
-- nulls: list_cost is null but where a plan pays (what its calls would cost by the token),
--   avoided_cost where no answer came out of a gateway's cache (what it would cost by the token); a
--   letter is null where no call began in the window or no output is known, and Td_s where
--   their output is no token; gpu_seconds and cost stand there. cost is null where no price is
-- identity: price_per_gpu_hour / 3600 * N * (Tp_s + L_tokens * Td_s) / B = cost on each gpu line of
--   which all letters are known; all lines add up to provisioned GPU-seconds times price plus the
--   token costs. Costs of a currency are rounded together, each down or up from its exact cost.
--   Idle time of no more than a millionth of a second either way is 0

-- The sums that the lines are made of, per cohort and rate: of calls in one scan, of charges from
-- their stored sums by quarter-hour. A call is counted where its service begins, its seconds where
-- they pass. Calls are looked at one by one only in cohorts that do not tell how each of their
-- calls is paid: no pool, times that are not sure, or a pool that changes currency, or gains or
-- loses its price. edge_charges are the pieces of a window that does not begin or end on a
-- quarter-hour.
with repriced_pools as (
    select pool
    from pools
    group by pool
    having
        count(distinct coalesce(currency, '')) > 1
        or count(price_per_gpu_hour) not in (0, count(*))
),

singly as (
    select
        c.cohort_id,
        c.pool,
        c.timing_quality,
        p.pool as repriced_pool
    from cohorts as c
    left join repriced_pools as p on c.pool = p.pool
    where c.pool is null or c.timing_quality <> 'ok' or p.pool is not null
),

charged_singly as (
    select distinct c.call_no
    from charges as c
    inner join singly as s on c.cohort_id = s.cohort_id
    where s.timing_quality <> 'ok'
),

served as (
    select
        r.cohort_id,
        count(*) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        count(r.output_tokens) as known_output_count
    from call_rows as r
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
    group by r.cohort_id
),

served_singly as (
    select
        r.cohort_id,
        p.rate_id,
        t.currency,
        case
            when t.plan is not null then 'plan'
            when t.call_no is not null then 'token'
            when s.pool is not null and s.timing_quality = 'ok' then 'gpu'
            when c.call_no is not null then 'gpu'
            else 'unpriced'
        end as basis,
        count(*) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        count(r.output_tokens) as known_output_count,
        sum(t.token_cost) as token_cost,
        sum(case when t.price_source in ('cache', 'plan') then t.listed_cost end) as listed_cost
    from call_rows as r
    inner join singly as s on r.cohort_id = s.cohort_id
    left join token_charges as t on r.call_no = t.call_no
    left join charged_singly as c on r.call_no = c.call_no
    left join pools as p
        on
            s.repriced_pool = p.pool
            and coalesce(r.started_at, r.arrived_at, r.ended_at) >= p.effective_from
            and (
                p.effective_to is null
                or coalesce(r.started_at, r.arrived_at, r.ended_at) < p.effective_to
            )
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
    group by
        r.cohort_id, p.rate_id, t.currency,
        case
            when t.plan is not null then 'plan'
            when t.call_no is not null then 'token'
            when s.pool is not null and s.timing_quality = 'ok' then 'gpu'
            when c.call_no is not null then 'gpu'
            else 'unpriced'
        end
),

charged as (
    select
        cohort_id,
        rate_id,
        sum(prefill_ps) as prefill_ps,
        sum(decode_ps) as decode_ps,
        sum(prefill_gpu_ps) as prefill_gpu_ps,
        sum(decode_gpu_ps) as decode_gpu_ps
    from charge_sums
    where
        ($first_quarter is null or quarter >= $first_quarter)
        and ($until_quarter is null or quarter < $until_quarter)
    group by cohort_id, rate_id
),

charged_at_edges as (
    select
        cohort_id,
        rate_id,
        sum_picoseconds(prefill_s) as prefill_ps,
        sum_picoseconds(decode_s) as decode_ps,
        sum_picoseconds(prefill_gpu_seconds) as prefill_gpu_ps,
        sum_picoseconds(decode_gpu_seconds) as decode_gpu_ps
    from edge_charges
    group by cohort_id, rate_id
)

select
    cohort_id,
    cast(null as integer) as rate_id,
    'gpu' as basis,
    cast(null as varchar) as currency,
    call_count,
    input_tokens,
    output_tokens,
    known_output_count,
    cast(null as decimal(38, 0)) as prefill_ps,
    cast(null as decimal(38, 0)) as decode_ps,
    cast(null as decimal(38, 0)) as prefill_gpu_ps,
    cast(null as decimal(38, 0)) as decode_gpu_ps,
    cast(null as decimal(38, 9)) as token_cost,
    cast(null as decimal(38, 9)) as listed_cost
from served
where cohort_id not in (select s.cohort_id from singly as s)
union all
select
    cohort_id,
    rate_id,
    basis,
    currency,
    call_count,
    input_tokens,
    output_tokens,
    known_output_count,
    null as prefill_ps,
    null as decode_ps,
    null as prefill_gpu_ps,
    null as decode_gpu_ps,
    token_cost,
    listed_cost
from served_singly
union all
select
    cohort_id,
    rate_id,
    'gpu' as basis,
    null as currency,
    0 as call_count,
    null as input_tokens,
    null as output_tokens,
    0 as known_output_count,
    prefill_ps,
    decode_ps,
    prefill_gpu_ps,
    decode_gpu_ps,
    null as token_cost,
    null as listed_cost
from charged
union all
select
    cohort_id,
    rate_id,
    'gpu' as basis,
    null as currency,
    0 as call_count,
    null as input_tokens,
    null as output_tokens,
    0 as known_output_count,
    prefill_ps,
    decode_ps,
    prefill_gpu_ps,
    decode_gpu_ps,
    null as token_cost,
    null as listed_cost
from charged_at_edges
order by
    cohort_id, rate_id nulls last, basis,
    currency nulls last, call_count
