-- name: answer_shapes
-- question: In which shapes do the calls of each cohort answer?
-- grain: a cohort with calls in the window
-- unit: calls; tokens: of the pieces of JSON themselves, and of all answers that are text
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds or null,
--   half-open, of the begin of service; $any_user and $any_conversation are false where only the
--   calls of $user_id, $conversation_id count
-- nulls: none
-- identity: call_count adds up to the calls of the window; json_count + sentence_count <=
--   measured_count <= call_count; json_tokens <= text_tokens
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
)

select
    r.cohort_id,
    count(*) as call_count,
    count(r.answer_shape) as measured_count,
    count(case when r.answer_shape in ('json', 'json_in_text') then 1 end) as json_count,
    count(case when r.answer_shape not in ('tool_call', 'several') then 1 end) as text_count,
    cast(
        sum(
            case
                when r.answer_shape in ('json', 'json_in_text')
                    then r.answer_tokens - r.preamble_tokens - r.trailing_tokens
                else 0
            end
        ) as bigint
    ) as json_tokens,
    cast(
        sum(
            case when r.answer_shape not in ('tool_call', 'several') then r.answer_tokens else 0 end
        ) as bigint
    ) as text_tokens,
    count(r.sentence_hashes) as sentence_count
from call_rows as r
inner join cohort_choice as k on r.cohort_id = k.cohort_id
where
    ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
    and ($any_user or r.user_id is not distinct from $user_id)
    and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
group by r.cohort_id
order by r.cohort_id
