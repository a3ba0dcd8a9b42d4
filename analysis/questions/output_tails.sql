-- name: output_tails
-- question: Which answers are longer than those of 99 in 100 calls of their endpoint?
-- grain: a call
-- unit: tokens of one choice
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $least_calls is how many answers a
--   group must have
-- nulls: none; an answer that does not tell its tokens has no row
-- identity: choice_tokens > cap_tokens, which is p99_tokens, that of the group, rounded up
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.call_no,
        r.output_tokens * 1e0 / greatest(coalesce(r.n_choices, 1), 1) as choice_tokens
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        length_of(r.output_tokens, r.input_tokens, r.output_tokens) is not null
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

caps as (
    select
        group_number,
        percentile(choice_tokens, 0.99) as p99_tokens,
        ceil(percentile(choice_tokens, 0.99)) as cap_tokens,
        max(choice_tokens) as longest_tokens
    from measured
    group by group_number
    having count(*) >= $least_calls
)

select
    m.group_number,
    m.time_number,
    m.caller,
    m.call_no,
    m.choice_tokens,
    c.p99_tokens,
    c.cap_tokens,
    c.longest_tokens
from measured as m
inner join caps as c on m.group_number = c.group_number
where m.choice_tokens > c.cap_tokens
order by m.call_no
