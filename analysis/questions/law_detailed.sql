-- name: law_detailed
-- question: What does the law say by hour, day or month, or by user or conversation?
-- grain: as law, for each quarter-hour and each caller that is asked for
-- unit: as law
-- params: $since, $until, $first_quarter, $until_quarter as for law; $by_quarter is true where
--   time is cut; $caller is 'user_id', 'conversation_id' or null; $any_user and
--   $any_conversation are false where only the calls of $user_id, $conversation_id count
-- nulls: quarter is null where time is not cut, caller where it is not asked for or not known
-- identity: summed over quarters and callers it is law

-- As law. A call is read together with its charges only where a caller is asked for.
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

selected as (
    select
        call_no,
        cohort_id,
        coalesce(started_at, arrived_at) as served_at,
        case when $by_quarter then quarter_of(coalesce(started_at, arrived_at)) end as quarter,
        case $caller
            when 'user_id' then user_id
            when 'conversation_id' then conversation_id
        end as caller,
        input_tokens,
        output_tokens
    from call_rows
    where
        ($any_user or user_id is not distinct from $user_id)
        and ($any_conversation or conversation_id is not distinct from $conversation_id)
),

served as (
    select
        s.cohort_id,
        s.quarter,
        s.caller,
        count(*) as call_count,
        cast(sum(s.input_tokens) as bigint) as input_tokens,
        cast(sum(s.output_tokens) as bigint) as output_tokens,
        count(s.output_tokens) as known_output_count
    from selected as s
    where
        ($since is null or s.served_at >= $since)
        and ($until is null or s.served_at < $until)
    group by s.cohort_id, s.quarter, s.caller
),

served_repriced as (
    select
        s.cohort_id,
        s.quarter,
        s.caller,
        p.rate_id,
        count(*) as call_count,
        cast(sum(s.input_tokens) as bigint) as input_tokens,
        cast(sum(s.output_tokens) as bigint) as output_tokens,
        count(s.output_tokens) as known_output_count
    from selected as s
    inner join repriced as c on s.cohort_id = c.cohort_id
    left join pools as p
        on
            c.pool = p.pool
            and s.served_at >= p.effective_from
            and (p.effective_to is null or s.served_at < p.effective_to)
    where
        ($since is null or s.served_at >= $since)
        and ($until is null or s.served_at < $until)
    group by s.cohort_id, s.quarter, s.caller, p.rate_id
),

by_token as (
    select
        s.cohort_id,
        s.quarter,
        s.caller,
        t.currency,
        count(*) as call_count,
        cast(sum(s.input_tokens) as bigint) as input_tokens,
        cast(sum(s.output_tokens) as bigint) as output_tokens,
        count(s.output_tokens) as known_output_count,
        sum(t.token_cost) as token_cost
    from token_charges as t
    inner join selected as s on t.call_no = s.call_no
    where
        ($since is null or s.served_at >= $since)
        and ($until is null or s.served_at < $until)
    group by s.cohort_id, s.quarter, s.caller, t.currency
),

callers as (
    select
        s.call_no,
        s.caller
    from selected as s
    where $caller is not null or not $any_user or not $any_conversation
),

charged as (
    select
        c.cohort_id,
        c.rate_id,
        case when $by_quarter then c.quarter end as quarter,
        r.caller,
        sum_picoseconds(c.prefill_s) as prefill_ps,
        sum_picoseconds(c.decode_s) as decode_ps,
        sum_picoseconds(c.prefill_gpu_seconds) as prefill_gpu_ps,
        sum_picoseconds(c.decode_gpu_seconds) as decode_gpu_ps
    from charges as c
    left join callers as r on c.call_no = r.call_no
    where
        ($first_quarter is null or c.quarter >= $first_quarter)
        and ($until_quarter is null or c.quarter < $until_quarter)
        and (($any_user and $any_conversation) or r.call_no is not null)
    group by c.cohort_id, c.rate_id, case when $by_quarter then c.quarter end, r.caller
)

select
    'served' as part,
    cohort_id,
    quarter,
    caller,
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
    quarter,
    caller,
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
    quarter,
    caller,
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
    quarter,
    caller,
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
order by
    part, cohort_id, quarter nulls last, caller nulls last, rate_id nulls last, currency nulls last
