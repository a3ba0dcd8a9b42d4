-- name: prompt_orders
-- question: With which blocks do prompts begin, as they are and without their volatile text?
-- grain: a call, also one that only takes room in a cache
-- unit: tokens; served_at in nanoseconds since 1970
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $engine_cohort_ids and
--   $engine_numbers say on which engines each cohort ran
-- nulls: group_number is null where the call was not asked for; prefix_hashes where its prompt is
--   not told; volatile_spans and stable_prefix_hashes where nothing in it looks volatile
-- identity: the calls with a group_number are those that began service in the window

select
    r.call_no,
    e.value as engine_number,
    r.replica,
    case
        when
            ($any_user or r.user_id is not distinct from $user_id)
            and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
            then g.value
    end as group_number,
    t.value as time_number,
    case $caller
        when 'user_id' then r.user_id
        when 'conversation_id' then r.conversation_id
    end as caller,
    coalesce(r.started_at, r.arrived_at, r.ended_at) as served_at,
    r.input_tokens,
    r.cache_read_tokens,
    r.prefix_block_tokens,
    r.prefix_hashes,
    r.volatile_spans,
    r.stable_prefix_hashes
from call_rows as r
inner join pairs($engine_cohort_ids, $engine_numbers) as e on r.cohort_id = e.key
left join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
left join pairs($quarters, $time_numbers) as t
    on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
where
    ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
