-- name: limits
-- question: How far below their limit do answers end, and how many does it cut?
-- grain: a group, a time and a caller, where asked for
-- unit: calls; tokens of one choice; used_p99_ratio is output over limit
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: a figure of lengths is null where no call of the group tells the tokens that it needs; a
--   call of which no token was processed (refused, or out of a gateway's cache) tells none
-- identity: limited_count + unlimited_count = call_count = calls that began service in the window;
--   cut_count + whole_count + unknown_end_count = call_count

-- `max_tokens` limits one choice: of a call with several, the mean length of a choice counts. An
-- answer is cut where its finish reason says so, whatever name the sender has for that.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.max_tokens,
        length_of(r.output_tokens, r.input_tokens, r.output_tokens) * 1e0
        / greatest(coalesce(r.n_choices, 1), 1) as choice_tokens,
        lower(r.finish_reason) as finish_reason
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

ended as (
    select
        *,
        case
            when finish_reason is null then 'unknown'
            when finish_reason like '%length%' then 'cut'
            when finish_reason like '%max%tokens%' then 'cut'
            else 'whole'
        end as answer_end
    from measured
)

select
    group_number,
    time_number,
    caller,
    count(*) as call_count,
    count(max_tokens) as limited_count,
    count(*) - count(max_tokens) as unlimited_count,
    min(max_tokens) as least_limit_tokens,
    max(max_tokens) as largest_limit_tokens,
    count(*) - count(choice_tokens) as unknown_output_count,
    percentile(choice_tokens, 0.5) as output_p50_tokens,
    percentile(choice_tokens, 0.99) as output_p99_tokens,
    max(choice_tokens) as longest_output_tokens,
    percentile(choice_tokens / nullif(max_tokens, 0), 0.99) as used_p99_ratio,
    count(case when answer_end = 'cut' then 1 end) as cut_count,
    count(case when answer_end = 'whole' then 1 end) as whole_count,
    count(case when answer_end = 'unknown' then 1 end) as unknown_end_count
from ended
group by group_number, time_number, caller
order by group_number, time_number nulls last, caller nulls last
