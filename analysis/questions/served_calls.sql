-- name: served_calls
-- question: Which calls began service in the window?
-- grain: a call
-- unit: none
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds or null,
--   half-open; $any_user and $any_conversation are false where only the calls of $user_id,
--   $conversation_id count
-- nulls: none
-- identity: they are the calls that law counts
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
)

select r.call_no
from call_rows as r
inner join cohort_choice as k on r.cohort_id = k.cohort_id
where
    ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
    and ($any_user or r.user_id is not distinct from $user_id)
    and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
