-- name: law_detailed
-- question: What does the law say by hour, day or month, or by user or conversation?
-- grain: as law, for each time and each caller that is asked for
-- unit: as law
-- params: $since, $until, $first_quarter, $until_quarter as for law; $quarters and $time_numbers
--   say which time each quarter-hour is in, and are empty where time is not cut; $caller is
--   'user_id', 'conversation_id' or null; $any_user and $any_conversation are false where only
--   the calls of $user_id, $conversation_id count
-- nulls: time_number is null where time is not cut or not told, caller where it is not asked for
--   or not known
-- identity: summed over times and callers it is law

-- As law. A call is read together with its charges only where a caller is asked for.
with times as (
    select
        key as quarter,
        value as time_number
    from pairs($quarters, $time_numbers)
),

repriced_pools as (
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

selected as (
    select
        c.call_no,
        c.cohort_id,
        coalesce(c.started_at, c.arrived_at, c.ended_at) as served_at,
        t.time_number,
        case $caller
            when 'user_id' then c.user_id
            when 'conversation_id' then c.conversation_id
        end as caller,
        c.input_tokens,
        c.output_tokens
    from call_rows as c
    left join times as t on quarter_of(coalesce(c.started_at, c.arrived_at, c.ended_at)) = t.quarter
    where
        ($any_user or c.user_id is not distinct from $user_id)
        and ($any_conversation or c.conversation_id is not distinct from $conversation_id)
),

served as (
    select
        r.cohort_id,
        r.time_number,
        r.caller,
        count(*) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        count(r.output_tokens) as known_output_count
    from selected as r
    where
        ($since is null or r.served_at >= $since)
        and ($until is null or r.served_at < $until)
    group by r.cohort_id, r.time_number, r.caller
),

served_singly as (
    select
        r.cohort_id,
        r.time_number,
        r.caller,
        p.rate_id,
        t.currency,
        case
            when t.call_no is not null then 'token'
            when s.pool is not null and s.timing_quality = 'ok' then 'gpu'
            when c.call_no is not null then 'gpu'
            else 'unpriced'
        end as basis,
        count(*) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        count(r.output_tokens) as known_output_count,
        sum(t.token_cost) as token_cost
    from selected as r
    inner join singly as s on r.cohort_id = s.cohort_id
    left join token_charges as t on r.call_no = t.call_no
    left join charged_singly as c on r.call_no = c.call_no
    left join pools as p
        on
            s.repriced_pool = p.pool
            and r.served_at >= p.effective_from
            and (p.effective_to is null or r.served_at < p.effective_to)
    where
        ($since is null or r.served_at >= $since)
        and ($until is null or r.served_at < $until)
    group by
        r.cohort_id, r.time_number, r.caller, p.rate_id, t.currency,
        case
            when t.call_no is not null then 'token'
            when s.pool is not null and s.timing_quality = 'ok' then 'gpu'
            when c.call_no is not null then 'gpu'
            else 'unpriced'
        end
),

callers as (
    select
        r.call_no,
        r.caller
    from selected as r
    where $caller is not null or not $any_user or not $any_conversation
),

charged as (
    select
        c.cohort_id,
        c.rate_id,
        t.time_number,
        r.caller,
        sum_picoseconds(c.prefill_s) as prefill_ps,
        sum_picoseconds(c.decode_s) as decode_ps,
        sum_picoseconds(c.prefill_gpu_seconds) as prefill_gpu_ps,
        sum_picoseconds(c.decode_gpu_seconds) as decode_gpu_ps
    from charges as c
    left join times as t on c.quarter = t.quarter
    left join callers as r on c.call_no = r.call_no
    where
        ($first_quarter is null or c.quarter >= $first_quarter)
        and ($until_quarter is null or c.quarter < $until_quarter)
        and (($any_user and $any_conversation) or r.call_no is not null)
    group by c.cohort_id, c.rate_id, t.time_number, r.caller
),

charged_at_edges as (
    select
        c.cohort_id,
        c.rate_id,
        t.time_number,
        r.caller,
        sum_picoseconds(c.prefill_s) as prefill_ps,
        sum_picoseconds(c.decode_s) as decode_ps,
        sum_picoseconds(c.prefill_gpu_seconds) as prefill_gpu_ps,
        sum_picoseconds(c.decode_gpu_seconds) as decode_gpu_ps
    from edge_charges as c
    left join times as t on c.quarter = t.quarter
    left join callers as r on c.call_no = r.call_no
    where ($any_user and $any_conversation) or r.call_no is not null
    group by c.cohort_id, c.rate_id, t.time_number, r.caller
)

select
    cohort_id,
    time_number,
    caller,
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
    cast(null as decimal(38, 9)) as token_cost
from served
where cohort_id not in (select s.cohort_id from singly as s)
union all
select
    cohort_id,
    time_number,
    caller,
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
    token_cost
from served_singly
union all
select
    cohort_id,
    time_number,
    caller,
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
    null as token_cost
from charged
union all
select
    cohort_id,
    time_number,
    caller,
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
    null as token_cost
from charged_at_edges
order by
    cohort_id, time_number nulls last, caller nulls last, rate_id nulls last, basis,
    currency nulls last, call_count
