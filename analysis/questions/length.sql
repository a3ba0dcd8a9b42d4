-- name: length
-- question: How long are prompts and answers, on the whole and in the tail?
-- grain: a group, a time and a caller, where asked for, and one of input, output
-- unit: tokens of a call
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: a figure is null where no call of the group tells its tokens; a call of which no token
--   was processed (refused, or out of a gateway's cache) tells none
-- identity: known_count + unknown_count = calls that began service in the window; the tokens of
--   all groups add up to those of law; p50 <= p95 <= p99 <= longest

-- A percentile is interpolated as everywhere (docs/glossary.md): it lies p * (known_count - 1)
-- calls above the shortest. It is exact, and found in the counts of equal lengths, which are few
-- however many calls there are.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        length_of(r.input_tokens, r.input_tokens, r.output_tokens) as input_tokens,
        length_of(r.output_tokens, r.input_tokens, r.output_tokens) as output_tokens
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

lengths as (
    select
        group_number,
        time_number,
        caller,
        'input' as measure,
        input_tokens as tokens,
        count(*) as call_count
    from measured
    group by group_number, time_number, caller, input_tokens
    union all
    select
        group_number,
        time_number,
        caller,
        'output' as measure,
        output_tokens as tokens,
        count(*) as call_count
    from measured
    group by group_number, time_number, caller, output_tokens
),

running as (
    select
        *,
        sum(case when tokens is not null then call_count else 0 end) over (
            partition by group_number, time_number, caller, measure
        ) as known_count,
        sum(call_count) over (
            partition by group_number, time_number, caller, measure
            order by tokens nulls last
            rows unbounded preceding
        ) as up_to
    from lengths
),

placed as (
    select
        *,
        (known_count - 1) * 0.5e0 as p50_place,
        (known_count - 1) * 0.95e0 as p95_place,
        (known_count - 1) * 0.99e0 as p99_place
    from running
),

-- The calls in whose midst a percentile lies: the one below its place, and the one above.
around as (
    select
        group_number,
        time_number,
        caller,
        measure,
        sum(whole(tokens) * call_count) as tokens,
        max(known_count) as known_count,
        sum(call_count) as call_count,
        max(tokens) as longest_tokens,
        max(p50_place - floor(p50_place)) as p50_part,
        min(case when up_to > floor(p50_place) then tokens end) as p50_low,
        min(case when up_to > ceil(p50_place) then tokens end) as p50_high,
        max(p95_place - floor(p95_place)) as p95_part,
        min(case when up_to > floor(p95_place) then tokens end) as p95_low,
        min(case when up_to > ceil(p95_place) then tokens end) as p95_high,
        max(p99_place - floor(p99_place)) as p99_part,
        min(case when up_to > floor(p99_place) then tokens end) as p99_low,
        min(case when up_to > ceil(p99_place) then tokens end) as p99_high
    from placed
    group by group_number, time_number, caller, measure
)

select
    group_number,
    time_number,
    caller,
    measure,
    cast(tokens as double) / nullif(known_count, 0) as mean_tokens,
    p50_low + p50_part * (p50_high - p50_low) as p50_tokens,
    p95_low + p95_part * (p95_high - p95_low) as p95_tokens,
    p99_low + p99_part * (p99_high - p99_low) as p99_tokens,
    longest_tokens,
    cast(tokens as bigint) as tokens,
    cast(known_count as bigint) as known_count,
    cast(call_count - known_count as bigint) as unknown_count
from around
order by group_number, time_number nulls last, caller nulls last, measure
