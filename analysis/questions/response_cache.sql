-- name: response_cache
-- question: Which share of calls would a cache of answers have answered, and which share of cost?
-- grain: a group, a time and a caller, where asked for
-- unit: counts in calls; GPU-seconds; cost in currency; ratios from 0 to 1
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null, half-open, of the arrival; $any_user and
--   $any_conversation are false where only the calls of $user_id, $conversation_id count
-- nulls: hits and what they save are null where no call of the group tells its prompt; GPU-seconds
--   where no call was charged; costs where no price is known or several currencies are, and
--   saved_cost where there are hits and none of them has a price
-- identity: over all groups, hit_count + apart_count are the duplicates of `ask duplicates`, and
--   saved_gpu_seconds is theirs; saved_gpu_seconds + apart_gpu_seconds <= gpu_seconds

-- The table cached_calls has the calls for which an answer was there: is_saved where they are
-- answered the same each time. What hits save is a share of what all calls of the group cost, so
-- hit_ratio and saved_ratio part where the calls that repeat are cheaper or dearer than others.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.call_no,
        r.prompt_hash is not null as is_told,
        m.is_saved
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.arrived_at, r.started_at, r.ended_at)) = t.key
    left join cached_calls as m on r.call_no = m.call_no
    where
        ($since is null or coalesce(r.arrived_at, r.started_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.arrived_at, r.started_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

priced as (
    select m.call_no
    from cached_calls as m
    inner join charges as h on m.call_no = h.call_no
    where m.is_saved
    union distinct
    select m.call_no
    from cached_calls as m
    inner join token_charges as t on m.call_no = t.call_no
    where m.is_saved and t.token_cost is not null
),

charged as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        m.is_saved,
        h.rate_id,
        sum(picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds)) as gpu_ps
    from charges as h
    inner join measured as m on h.call_no = m.call_no
    group by m.group_number, m.time_number, m.caller, m.is_saved, h.rate_id
),

parts as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        m.is_saved,
        count(*) as call_count,
        count(*) filter (where m.is_told) as told_count,
        count(d.call_no) as priced_hit_count,
        cast(null as decimal(38, 0)) as gpu_ps,
        sum(t.token_cost) as cost,
        min(t.currency) as currency,
        max(t.currency) as last_currency
    from measured as m
    left join token_charges as t on m.call_no = t.call_no
    left join priced as d on m.call_no = d.call_no
    group by m.group_number, m.time_number, m.caller, m.is_saved
    union all
    select
        c.group_number,
        c.time_number,
        c.caller,
        c.is_saved,
        0 as call_count,
        0 as told_count,
        0 as priced_hit_count,
        cast(sum(c.gpu_ps) as decimal(38, 0)) as gpu_ps,
        sum_gpu_cost(c.gpu_ps, p.price_per_gpu_hour) as cost,
        min(p.currency) as currency,
        max(p.currency) as last_currency
    from charged as c
    inner join pools as p on c.rate_id = p.rate_id
    group by c.group_number, c.time_number, c.caller, c.is_saved
),

grouped as (
    select
        group_number,
        time_number,
        caller,
        cast(sum(call_count) as bigint) as call_count,
        cast(sum(told_count) as bigint) as told_count,
        cast(coalesce(sum(case when is_saved then call_count end), 0) as bigint) as hit_count,
        cast(coalesce(sum(case when not is_saved then call_count end), 0) as bigint) as apart_count,
        cast(sum(priced_hit_count) as bigint) as priced_hit_count,
        sum(gpu_ps) as gpu_ps,
        coalesce(sum(case when is_saved then gpu_ps end), 0) as saved_gpu_ps,
        coalesce(sum(case when not is_saved then gpu_ps end), 0) as apart_gpu_ps,
        case when min(currency) = max(last_currency) then sum(cost) end as cost,
        coalesce(sum(case when is_saved then cost end), 0) as saved_cost,
        case when min(currency) = max(last_currency) then min(currency) end as currency
    from parts
    group by group_number, time_number, caller
),

known as (
    select
        *,
        case
            when told_count > 0 and cost is not null and (hit_count = 0 or priced_hit_count > 0)
                then saved_cost
        end as known_saved_cost
    from grouped
)

select
    group_number,
    time_number,
    caller,
    call_count,
    told_count,
    case when told_count > 0 then hit_count end as hit_count,
    case when told_count > 0 then cast(hit_count as double) / call_count end as hit_ratio,
    cast(gpu_ps as double) / 1e12 as gpu_seconds,
    case when told_count > 0 and gpu_ps is not null then cast(saved_gpu_ps as double) / 1e12 end
        as saved_gpu_seconds,
    case when told_count > 0 then cast(saved_gpu_ps as double) / nullif(cast(gpu_ps as double), 0)
    end as saved_ratio,
    cost,
    known_saved_cost as saved_cost,
    cast(known_saved_cost as double) / nullif(cast(cost as double), 0) as saved_cost_ratio,
    currency,
    case when told_count > 0 then hit_count - priced_hit_count end as unpriced_hit_count,
    case when told_count > 0 then apart_count end as apart_count,
    case when told_count > 0 and gpu_ps is not null then cast(apart_gpu_ps as double) / 1e12 end
        as apart_gpu_seconds
from known
order by group_number, time_number nulls last, caller nulls last
