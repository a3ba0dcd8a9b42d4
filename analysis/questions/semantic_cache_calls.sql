-- name: semantic_cache_calls
-- question: How many calls are there, and of how many is the text stored?
-- grain: one endpoint
-- unit: call_count and text_count in calls that a model answered
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds since 1970,
--   half-open, of the arrival, may be null; $any_user and $any_conversation are false where only
--   the calls of $user_id, $conversation_id count
-- nulls: endpoint is null where it is not known
-- identity: text_count is at most call_count
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
)

select
    c.endpoint,
    count(*) as call_count,
    count(t.prompt) as text_count
from call_rows as r
inner join cohorts as c on r.cohort_id = c.cohort_id
inner join cohort_choice as k on c.cohort_id = k.cohort_id
left join contents as t on r.call_id = t.call_id
where
    c.status = 'ok'
    and c.operation is distinct from 'embeddings'
    and not coalesce(r.is_cache_hit, false)
    and ($since is null or coalesce(r.arrived_at, r.started_at) >= $since)
    and ($until is null or coalesce(r.arrived_at, r.started_at) < $until)
    and ($any_user or r.user_id is not distinct from $user_id)
    and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
group by c.endpoint
order by call_count desc, c.endpoint asc nulls last
