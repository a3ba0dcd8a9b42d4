-- name: finish_reasons
-- question: How do answers end, and what do the calls that end so use?
-- grain: a group, a time and a caller, where asked for, and a finish reason
-- unit: calls, tokens, GPU-seconds
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: a finish reason is null where nobody told it, output_tokens where no such call tells them,
--   gpu_seconds where no such call has a charge
-- identity: call_count over all reasons = calls that began service in the window; output_tokens add
--   up to those of law

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
        r.call_no,
        r.output_tokens,
        r.finish_reason
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
)

select
    m.group_number,
    m.time_number,
    m.caller,
    m.finish_reason,
    count(*) as call_count,
    cast(sum(m.output_tokens) as bigint) as output_tokens,
    cast(sum(whole(c.gpu_ps)) as double) / 1e12 as gpu_seconds
from measured as m
left join charged as c on m.call_no = c.call_no
group by m.group_number, m.time_number, m.caller, m.finish_reason
order by m.group_number, m.time_number nulls last, m.caller nulls last, m.finish_reason nulls last
