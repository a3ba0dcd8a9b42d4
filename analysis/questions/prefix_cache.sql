-- name: prefix_cache
-- question: How many tokens of prompts would a prefix cache hold, by its size and its reach?
-- grain: a group, a time and a caller, where asked for, a reach (replica, pool) and a capacity;
--   this text reads one row a call, also of calls that only take room in a cache
-- unit: tokens; GPU-seconds; a capacity in tokens of KV memory; served_at in nanoseconds since 1970
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $engine_cohort_ids and
--   $engine_numbers say on which engines each cohort ran
-- nulls: capacity_tokens is null for a cache without limit; a group without prefix hashes has one
--   row, without hits; a reach has no row where no call tells its replica; reported_hit_tokens and
--   avoidable_gpu_seconds are null where no call tells what was read from a cache, or none has a
--   charge
-- identity: known_count + unknown_count = calls that began service in the window; hits grow with
--   the capacity; hit_tokens <= input_tokens

with charged as (
    select
        c.call_no,
        sum(picoseconds(c.prefill_gpu_seconds)) as prefill_ps
    from charges as c
    inner join pairs($cohort_ids, $group_numbers) as g on c.cohort_id = g.key
    group by c.call_no
)

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
    cast(c.prefill_ps as double) / 1e12 as prefill_gpu_seconds,
    r.prefix_block_tokens,
    r.prefix_hashes
from call_rows as r
inner join pairs($engine_cohort_ids, $engine_numbers) as e on r.cohort_id = e.key
left join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
left join pairs($quarters, $time_numbers) as t
    on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
left join charged as c on r.call_no = c.call_no
where
    ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
