-- name: chains_extent
-- question: How many calls are asked for, how many in no trace, how many without a prefix?
-- grain: a group, a time and a caller, where asked for
-- unit: calls
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: none
-- identity: untraced_count and unhashed_count are at most call_count; summed, call_count is the
--   calls of the window
select
    g.value as group_number,
    t.value as time_number,
    case $caller
        when 'user_id' then r.user_id
        when 'conversation_id' then r.conversation_id
    end as caller,
    count(*) as call_count,
    count(case when r.trace_id is null then 1 end) as untraced_count,
    count(*) - count(r.prefix_block_tokens) as unhashed_count
from call_rows as r
inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
left join pairs($quarters, $time_numbers) as t
    on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
where
    ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
    and ($any_user or r.user_id is not distinct from $user_id)
    and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
group by
    g.value,
    t.value,
    case $caller
        when 'user_id' then r.user_id
        when 'conversation_id' then r.conversation_id
    end
order by group_number, time_number nulls last, caller nulls last
