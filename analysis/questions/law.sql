-- name: law
-- question: What did each group of calls cost, by which letters of C = p N (Tp + L Td) / B?
-- grain: a group and its basis (gpu, token); idle per pool; one line of unpriced calls
-- unit: N calls; Tp_s s; L_tokens tokens; Td_s s per token; B calls at once per GPU; cost in
--   currency
-- params: $since and $until in nanoseconds or null, $first_quarter and $until_quarter in
--   quarter-hours since 1970 or null; all half-open
-- nulls: a letter is null where no call began in the window or no output is known; cost is null
--   where no price is known
-- identity: price_per_gpu_hour / 3600 * N * (Tp_s + L_tokens * Td_s) / B = cost on each gpu line;
--   all lines add up to provisioned GPU-seconds times price plus the token costs

-- The sums per cohort and rate that the lines are made of, in one scan of each table. A call is
-- counted where its service begins, its seconds where they pass. Only a call whose pool changes
-- currency, or gains or loses its price, needs the rate of its own start.
with repriced as (
    select
        c.cohort_id,
        c.pool
    from cohorts as c
    inner join pools as p on c.pool = p.pool
    group by c.cohort_id, c.pool
    having
        count(distinct coalesce(p.currency, '')) > 1
        or count(p.price_per_gpu_hour) not in (0, count(*))
),

served as (
    select
        cohort_id,
        count(*) as call_count,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        count(output_tokens) as known_output_count
    from call_rows
    where
        ($since is null or coalesce(started_at, arrived_at) >= $since)
        and ($until is null or coalesce(started_at, arrived_at) < $until)
    group by cohort_id
),

served_repriced as (
    select
        r.cohort_id,
        p.rate_id,
        count(*) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        count(r.output_tokens) as known_output_count
    from call_rows as r
    inner join repriced as c on r.cohort_id = c.cohort_id
    left join pools as p
        on
            c.pool = p.pool
            and coalesce(r.started_at, r.arrived_at) >= p.effective_from
            and (p.effective_to is null or coalesce(r.started_at, r.arrived_at) < p.effective_to)
    where
        ($since is null or coalesce(r.started_at, r.arrived_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at) < $until)
    group by r.cohort_id, p.rate_id
),

by_token as (
    select
        r.cohort_id,
        t.currency,
        count(*) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        count(r.output_tokens) as known_output_count,
        sum(t.token_cost) as token_cost
    from token_charges as t
    inner join call_rows as r on t.call_no = r.call_no
    where
        ($since is null or coalesce(r.started_at, r.arrived_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at) < $until)
    group by r.cohort_id, t.currency
),

charged as (
    select
        cohort_id,
        rate_id,
        sum_picoseconds(prefill_s) as prefill_ps,
        sum_picoseconds(decode_s) as decode_ps,
        sum_picoseconds(prefill_gpu_seconds) as prefill_gpu_ps,
        sum_picoseconds(decode_gpu_seconds) as decode_gpu_ps
    from charges
    where
        ($first_quarter is null or quarter >= $first_quarter)
        and ($until_quarter is null or quarter < $until_quarter)
    group by cohort_id, rate_id
)

select
    'served' as part,
    cohort_id,
    cast(null as integer) as rate_id,
    cast(null as varchar) as currency,
    call_count,
    input_tokens,
    output_tokens,
    known_output_count,
    cast(null as decimal(38, 0)) as prefill_ps,
    cast(null as decimal(38, 0)) as decode_ps,
    cast(null as decimal(38, 0)) as prefill_gpu_ps,
    cast(null as decimal(38, 0)) as decode_gpu_ps,
    cast(null as decimal(38, 9)) as token_cost
from served
where cohort_id not in (select c.cohort_id from repriced as c)
union all
select
    'served' as part,
    cohort_id,
    rate_id,
    null as currency,
    call_count,
    input_tokens,
    output_tokens,
    known_output_count,
    null as prefill_ps,
    null as decode_ps,
    null as prefill_gpu_ps,
    null as decode_gpu_ps,
    null as token_cost
from served_repriced
union all
select
    'by_token' as part,
    cohort_id,
    null as rate_id,
    currency,
    call_count,
    input_tokens,
    output_tokens,
    known_output_count,
    null as prefill_ps,
    null as decode_ps,
    null as prefill_gpu_ps,
    null as decode_gpu_ps,
    token_cost
from by_token
union all
select
    'charged' as part,
    cohort_id,
    rate_id,
    null as currency,
    null as call_count,
    null as input_tokens,
    null as output_tokens,
    null as known_output_count,
    prefill_ps,
    decode_ps,
    prefill_gpu_ps,
    decode_gpu_ps,
    null as token_cost
from charged
order by part, cohort_id, rate_id nulls last, currency nulls last
