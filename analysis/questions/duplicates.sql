-- name: duplicates
-- question: Which calls would a cache of answers have answered, and what would that have saved?
-- grain: a group of identical calls: equal prompt, model and parameters, of one tenant
-- unit: counts in calls; GPU-seconds, cost in currency, instants in nanoseconds since 1970
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds since 1970,
--   half-open, of the arrival, may be null; $any_user and $any_conversation are false where only
--   the calls of $user_id, $conversation_id count
-- nulls: gpu_seconds where no call was charged; cost where no price is known or several currencies
--   are; is_deterministic where neither temperature nor seed is known. Without that being true
--   nothing is saved
-- identity: call_count = computed_count + duplicate_count; shown are groups in which at least
--   one call is a duplicate, with all of their calls

-- The cache is empty where the window begins. The first call that was answered fills it when it
-- ends, for as long as an answer may be given again; then it is computed anew. What a gateway
-- answered out of its cache is no call of these.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

selected as (
    select
        r.call_no,
        r.call_id,
        r.prompt_hash,
        c.tenant,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        case
            when c.status = 'ok' then greatest(r.ended_at, coalesce(r.arrived_at, r.started_at))
        end as answered_at,
        case when c.operation = 'embeddings' or r.seed is not null then true else r.temperature = 0
        end as is_deterministic
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join cohort_choice as k on c.cohort_id = k.cohort_id
    where
        r.prompt_hash is not null
        and not coalesce(r.is_cache_hit, false)
        and coalesce(r.arrived_at, r.started_at) is not null
        and ($since is null or coalesce(r.arrived_at, r.started_at) >= $since)
        and ($until is null or coalesce(r.arrived_at, r.started_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

asked as (
    select
        prompt_hash,
        tenant,
        min(call_no) as group_no
    from selected
    group by prompt_hash, tenant
    having count(*) > 1
)

select
    a.group_no,
    s.call_no,
    s.begun_at,
    s.answered_at,
    s.is_deterministic
from selected as s
inner join asked as a on s.prompt_hash = a.prompt_hash and s.tenant is not distinct from a.tenant
order by a.group_no, s.begun_at, s.call_id
