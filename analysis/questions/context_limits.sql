-- name: context_limits
-- question: How long are calls in all, input and output, and which would a smaller limit refuse?
-- grain: a group, a time and a caller, where asked for, one of used, asked, and a length
-- unit: tokens of one choice with its prompt; calls
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: tokens is null of calls that do not tell them; of asked, also where there is no max_tokens
-- identity: the calls of used are those that began service in the window, and so are those of
--   asked; refused_count falls from limit to limit, and is 0 where limit_tokens >= longest_tokens

-- An engine refuses a call whose prompt and max_tokens together exceed its limit (asked). What a
-- call used is its prompt and the mean length of a choice.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        length_of(r.input_tokens, r.input_tokens, r.output_tokens) + cast(
            ceil(r.output_tokens * 1e0 / greatest(coalesce(r.n_choices, 1), 1)) as bigint
        ) as used_tokens,
        length_of(r.input_tokens, r.input_tokens, r.output_tokens) + r.max_tokens as asked_tokens
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
    group_number,
    time_number,
    caller,
    'used' as measure,
    used_tokens as tokens,
    count(*) as call_count
from measured
group by group_number, time_number, caller, used_tokens
union all
select
    group_number,
    time_number,
    caller,
    'asked' as measure,
    asked_tokens as tokens,
    count(*) as call_count
from measured
group by group_number, time_number, caller, asked_tokens
order by group_number, time_number nulls last, caller nulls last, measure, tokens nulls last
