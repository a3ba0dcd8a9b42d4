-- name: output_parts
-- question: Which share of each call's output need not be written, by the form of the answer?
-- grain: a call of which some part is
-- unit: decode_ratio from 0 to 1, of the output of the call
-- params: $cohort_ids are the cohorts selected, $json_cohort_ids those of endpoints that answer in
--   JSON; $most_preamble_tokens is the longest preamble that counts; $with_trailing,
--   $with_preamble, $with_blanks, $with_key_names and $with_restated say which parts do; $since and
--   $until in nanoseconds or null, half-open, of the begin of service; $any_user and
--   $any_conversation are false where only the calls of $user_id, $conversation_id count
-- nulls: none
-- identity: with all parts but the names of keys, decode_ratio times the decode of each call adds
--   up to saved_gpu_seconds of output_format
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

json_cohorts as (
    select explode($json_cohort_ids) as cohort_id
),

measured as (
    select
        r.call_no,
        coalesce(r.visible_output_tokens * 1e0 / nullif(r.output_tokens, 0), 1e0)
        / greatest(r.answer_tokens, coalesce(r.visible_output_tokens, r.output_tokens, 0))
            as token_ratio,
        case when $with_restated then coalesce(r.restated_tokens, 0) else 0 end
        + case
            when j.cohort_id is null then 0
            else
                case when $with_trailing then coalesce(r.trailing_tokens, 0) else 0 end
                + case
                    when $with_preamble and r.preamble_tokens <= $most_preamble_tokens
                        then r.preamble_tokens
                    else 0
                end
                + case when $with_blanks then coalesce(r.json_blank_tokens, 0) else 0 end
                + case
                    when $with_key_names
                        then coalesce(greatest(r.json_key_tokens - r.json_key_count, 0), 0)
                    else 0
                end
        end as saved_tokens
    from call_rows as r
    inner join cohort_choice as k on r.cohort_id = k.cohort_id
    left join json_cohorts as j on r.cohort_id = j.cohort_id
    where
        r.answer_tokens > 0
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
)

select
    call_no,
    least(saved_tokens * token_ratio, 1e0) as decode_ratio
from measured
where saved_tokens > 0
order by call_no
