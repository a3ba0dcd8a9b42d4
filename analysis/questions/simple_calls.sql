-- name: simple_calls
-- question: Which calls are simple work: a short label or JSON after a short prompt, without tools?
-- grain: a call that is
-- unit: none
-- params: $cohort_ids are the cohorts selected; $most_input_tokens and $most_output_tokens are the
--   longest prompt and answer that count, $most_label_tokens the longest answer of unknown shape;
--   $since and $until in nanoseconds or null, half-open, of the begin of service; is_asked is
--   false where only the calls of another $user_id or $conversation_id count, true where $any_user
--   and $any_conversation are
-- nulls: none
-- identity: the rows are a part of the calls of the window

-- A call with reasoning, with tools on offer, or that failed is none. An answer of unknown shape
-- counts where it is as short as a label.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
)

select
    r.call_no,
    r.cohort_id,
    ($any_user or r.user_id is not distinct from $user_id)
    and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
        as is_asked
from call_rows as r
inner join cohort_choice as k on r.cohort_id = k.cohort_id
inner join cohorts as c on r.cohort_id = c.cohort_id
where
    c.status = 'ok'
    and c.operation not in ('embeddings', 'not_itemised')
    and r.tools_hash is null
    and coalesce(r.tools_tokens, 0) = 0
    and coalesce(r.reasoning_tokens, 0) = 0
    and r.input_tokens <= $most_input_tokens
    and r.output_tokens between 1 and $most_output_tokens
    and (
        r.answer_shape in ('label', 'json')
        or (r.answer_shape is null and r.output_tokens <= $most_label_tokens)
    )
    and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
order by r.call_no
