-- name: few_outputs_calls
-- question: Which calls of these groups were answered with one of the most frequent values?
-- grain: a call
-- unit: none
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $value_count values are the most
--   frequent ones
-- nulls: the time and the caller where not asked for
-- identity: of each group as many calls as top_10_ratio of few_outputs says, without the values
--   that were given once
with answered as (
    select
        r.call_no,
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        key_of(r.output_hash) as output_key
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        c.status = 'ok'
        and c.operation not in ('embeddings', 'not_itemised')
        and r.output_hash is not null
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

given as (
    select
        group_number,
        time_number,
        caller,
        output_key,
        count(*) as call_count
    from answered
    group by group_number, time_number, caller, output_key
    having count(*) > 1
),

ranked as (
    select
        *,
        row_number() over (
            partition by group_number, time_number, caller
            order by call_count desc, output_key asc
        ) as place
    from given
)

select
    a.call_no,
    a.group_number,
    a.time_number,
    a.caller
from answered as a
inner join ranked as k
    on
        a.group_number = k.group_number
        and a.time_number is not distinct from k.time_number
        and a.caller is not distinct from k.caller
        and a.output_key = k.output_key
where k.place <= $value_count
order by a.call_no
