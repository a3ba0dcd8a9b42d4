-- name: concentration
-- question: How much of the GPU time do the dearest calls use?
-- grain: a group, a time and a caller, where asked for
-- unit: GPU-seconds of a call; ratios of the group's GPU-seconds
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: every figure but the counts is null where no call of the group has a charge
-- identity: charged_count + uncharged_count = calls that began service in the window;
--   top_1_ratio <= top_5_ratio <= top_10_ratio <= 1; 0 <= gini_ratio < 1

-- The top 1 % are the dearest hundredth of the charged calls, at least one. The Gini coefficient
-- is twice the area between the Lorenz curve of the calls and the line of equal shares: 0 where
-- all calls cost the same. Sums are of whole picoseconds: the same bits in any order.
with charged as (
    select
        c.call_no,
        sum(picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds)) as gpu_ps
    from charges as c
    inner join pairs($cohort_ids, $group_numbers) as g on c.cohort_id = g.key
    group by c.call_no
),

measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.call_no
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

ranked as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        c.gpu_ps,
        row_number() over (
            partition by m.group_number, m.time_number, m.caller
            order by c.gpu_ps desc nulls last, m.call_no asc
        ) as place,
        count(c.gpu_ps) over (partition by m.group_number, m.time_number, m.caller) as charged_count
    from measured as m
    left join charged as c on m.call_no = c.call_no
)

select
    group_number,
    time_number,
    caller,
    cast(max(charged_count) as bigint) as charged_count,
    count(*) - cast(max(charged_count) as bigint) as uncharged_count,
    cast(sum(whole(gpu_ps)) as double) / 1e12 as gpu_seconds,
    cast(sum(whole(gpu_ps)) as double) / 1e12 / nullif(max(charged_count), 0) as mean_gpu_seconds,
    cast(min(case when (charged_count - place + 1) * 2 >= charged_count then gpu_ps end) as double)
    / 1e12 as p50_gpu_seconds,
    cast(
        min(case when (charged_count - place + 1) * 100 >= 95 * charged_count then gpu_ps end)
        as double
    ) / 1e12 as p95_gpu_seconds,
    cast(max(gpu_ps) as double) / 1e12 as most_gpu_seconds,
    cast(sum(case when (place - 1) * 100 < charged_count then whole(gpu_ps) end) as double)
    / nullif(cast(sum(whole(gpu_ps)) as double), 0) as top_1_ratio,
    cast(sum(case when (place - 1) * 100 < 5 * charged_count then whole(gpu_ps) end) as double)
    / nullif(cast(sum(whole(gpu_ps)) as double), 0) as top_5_ratio,
    cast(sum(case when (place - 1) * 100 < 10 * charged_count then whole(gpu_ps) end) as double)
    / nullif(cast(sum(whole(gpu_ps)) as double), 0) as top_10_ratio,
    cast(sum(whole(gpu_ps) * (charged_count + 1 - 2 * place)) as double)
    / nullif(cast(sum(whole(gpu_ps)) as double) * max(charged_count), 0) as gini_ratio
from ranked
group by group_number, time_number, caller
order by group_number, time_number nulls last, caller nulls last
