-- name: law_detailed
-- question: What does the law say by hour, day or month, or by user or conversation?
-- grain: as law, for each time and each caller that is asked for
-- unit: as law
-- params: $since, $until, $first_quarter, $until_quarter as for law; $quarters and $time_numbers
--   say which time each quarter-hour is in, and are empty where time is not cut, of which
--   $is_by_time tells; $caller is 'user_id', 'conversation_id' or null; $any_user and
--   $any_conversation are false where only the calls of $user_id, $conversation_id count
-- nulls: time_number is null where time is not cut or not told, caller where it is not asked for
--   or not known
-- identity: summed over times and callers it is law

-- As law. Calls are added up by quarter-hour before that is looked up in $quarters. A call is read
-- together with its charges only where a caller is asked for.
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

served_by_quarter as (
    select
        cohort_id,
        case
            when $is_by_time then quarter_of(coalesce(started_at, arrived_at, ended_at))
        end as quarter,
        count(*) as call_count,
        sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens,
        count(output_tokens) as known_output_count
    from call_rows
    where
        $caller is null
        and ($any_user or user_id is not distinct from $user_id)
        and ($any_conversation or conversation_id is not distinct from $conversation_id)
        and ($since is null or coalesce(started_at, arrived_at, ended_at) >= $since)
        and ($until is null or coalesce(started_at, arrived_at, ended_at) < $until)
    group by
        cohort_id,
        case
            when $is_by_time then quarter_of(coalesce(started_at, arrived_at, ended_at))
        end
),

served_by_caller as (
    select
        cohort_id,
        case
            when $is_by_time then quarter_of(coalesce(started_at, arrived_at, ended_at))
        end as quarter,
        case $caller
            when 'user_id' then user_id
            when 'conversation_id' then conversation_id
        end as caller,
        count(*) as call_count,
        sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens,
        count(output_tokens) as known_output_count
    from call_rows
    where
        $caller is not null
        and ($any_user or user_id is not distinct from $user_id)
        and ($any_conversation or conversation_id is not distinct from $conversation_id)
        and ($since is null or coalesce(started_at, arrived_at, ended_at) >= $since)
        and ($until is null or coalesce(started_at, arrived_at, ended_at) < $until)
    group by
        cohort_id,
        case
            when $is_by_time then quarter_of(coalesce(started_at, arrived_at, ended_at))
        end,
        case $caller
            when 'user_id' then user_id
            when 'conversation_id' then conversation_id
        end
),

served_by_either as (
    select
        cohort_id,
        quarter,
        cast(null as varchar) as caller,
        call_count,
        input_tokens,
        output_tokens,
        known_output_count
    from served_by_quarter
    union all
    select
        cohort_id,
        quarter,
        caller,
        call_count,
        input_tokens,
        output_tokens,
        known_output_count
    from served_by_caller
),

served as (
    select
        r.cohort_id,
        t.time_number,
        r.caller,
        cast(sum(r.call_count) as bigint) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        cast(sum(r.known_output_count) as bigint) as known_output_count
    from served_by_either as r
    left join times as t on r.quarter = t.quarter
    group by r.cohort_id, t.time_number, r.caller
),

called_singly as (
    select
        r.call_no,
        r.cohort_id,
        r.input_tokens,
        r.output_tokens,
        s.pool,
        s.timing_quality,
        s.repriced_pool,
        coalesce(r.started_at, r.arrived_at, r.ended_at) as served_at,
        quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) as quarter,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller
    from call_rows as r
    inner join singly as s on r.cohort_id = s.cohort_id
    where
        ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
),

served_singly as (
    select
        r.cohort_id,
        i.time_number,
        r.caller,
        p.rate_id,
        t.currency,
        case
            when t.plan is not null then 'plan'
            when t.call_no is not null then 'token'
            when r.pool is not null and r.timing_quality = 'ok' then 'gpu'
            when c.call_no is not null then 'gpu'
            else 'unpriced'
        end as basis,
        count(*) as call_count,
        cast(sum(r.input_tokens) as bigint) as input_tokens,
        cast(sum(r.output_tokens) as bigint) as output_tokens,
        count(r.output_tokens) as known_output_count,
        sum(t.token_cost) as token_cost,
        sum(case when t.price_source in ('cache', 'plan') then t.listed_cost end) as listed_cost
    from called_singly as r
    left join times as i on r.quarter = i.quarter
    left join token_charges as t on r.call_no = t.call_no
    left join charged_singly as c on r.call_no = c.call_no
    left join pools as p
        on
            r.repriced_pool = p.pool
            and r.served_at >= p.effective_from
            and (p.effective_to is null or r.served_at < p.effective_to)
    group by
        r.cohort_id, i.time_number, r.caller, p.rate_id, t.currency,
        case
            when t.plan is not null then 'plan'
            when t.call_no is not null then 'token'
            when r.pool is not null and r.timing_quality = 'ok' then 'gpu'
            when c.call_no is not null then 'gpu'
            else 'unpriced'
        end
),

callers as (
    select
        call_no,
        case $caller
            when 'user_id' then user_id
            when 'conversation_id' then conversation_id
        end as caller
    from call_rows
    where
        ($caller is not null or not $any_user or not $any_conversation)
        and ($any_user or user_id is not distinct from $user_id)
        and ($any_conversation or conversation_id is not distinct from $conversation_id)
),

charged as (
    select
        c.cohort_id,
        c.rate_id,
        t.time_number,
        sum(c.prefill_ps) as prefill_ps,
        sum(c.decode_ps) as decode_ps,
        sum(c.prefill_gpu_ps) as prefill_gpu_ps,
        sum(c.decode_gpu_ps) as decode_gpu_ps
    from charge_sums as c
    left join times as t on c.quarter = t.quarter
    where
        ($first_quarter is null or c.quarter >= $first_quarter)
        and ($until_quarter is null or c.quarter < $until_quarter)
        and $caller is null
        and $any_user
        and $any_conversation
    group by c.cohort_id, c.rate_id, t.time_number
),

charged_by_caller as (
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
        and ($caller is not null or not $any_user or not $any_conversation)
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
    cast(null as decimal(38, 9)) as token_cost,
    cast(null as decimal(38, 9)) as listed_cost
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
    token_cost,
    listed_cost
from served_singly
union all
select
    cohort_id,
    time_number,
    null as caller,
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
    null as token_cost,
    null as listed_cost
from charged_by_caller
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
    null as token_cost,
    null as listed_cost
from charged_at_edges
order by
    cohort_id, time_number nulls last, caller nulls last, rate_id nulls last, basis,
    currency nulls last, call_count
