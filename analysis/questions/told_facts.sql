-- name: told_facts
-- question: How many calls tell what a detection of levers goes by?
-- grain: one row
-- unit: counts in calls; text_count is of the whole ledger
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds or null,
--   half-open; $any_user and $any_conversation are false where only the calls of $user_id,
--   $conversation_id count
-- nulls: none
-- identity: every count but text_count is at most call_count
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
)

select
    count(*) as call_count,
    count(coalesce(r.trace_id, r.conversation_id)) as scoped_count,
    count(r.conversation_id) as conversation_count,
    count(coalesce(r.trace_id, cast(r.attempt as varchar))) as attempt_count,
    count(r.output_hash) as answer_count,
    count(r.prefix_block_tokens) as prefix_count,
    count(r.output_tokens) as output_count,
    count(r.max_tokens) as limited_count,
    count(r.finish_reason) as ended_count,
    count(r.replica) as replica_count,
    count(case when r.arrived_at < r.started_at then 1 end) as queued_count,
    count(r.started_at - r.arrived_at) as queue_count,
    (select count(*) from contents) as text_count
from call_rows as r
inner join cohort_choice as k on r.cohort_id = k.cohort_id
where
    ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
    and ($any_user or r.user_id is not distinct from $user_id)
    and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
