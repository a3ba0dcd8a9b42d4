-- name: known_hashes
-- question: How many calls, answers, tool runs and retrievals can be compared with each other?
-- grain: a kind: calls, answers, truncated answers, failed calls, embeddings, tool runs,
--   retrievals
-- unit: row_count, and told_count of those whose hash is known, in rows
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds since 1970,
--   half-open, of the begin, may be null; $any_user and $any_conversation are false where only the
--   calls of $user_id, $conversation_id count; $any_trace is false where only the tool runs and
--   retrievals count that are in a trace of one of these calls
-- nulls: none
-- identity: told_count is at most row_count

-- What is compared of calls, truncated answers and embeddings is the prompt, of answers the answer,
-- of tool runs the arguments, of retrievals the query. Failed calls and embeddings have no answer.
-- A failed call is told by its prompt too, or by its place among the attempts of an operation.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

chosen as (
    select
        r.trace_id,
        r.prompt_hash,
        r.input_hash,
        r.output_hash,
        r.attempt,
        r.finish_reason,
        c.status,
        c.operation
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join cohort_choice as k on c.cohort_id = k.cohort_id
    where
        ($since is null or coalesce(r.arrived_at, r.started_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.arrived_at, r.started_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

chosen_traces as (
    select distinct c.trace_id
    from chosen as c
    where not $any_trace and c.trace_id is not null
)

select
    'calls' as kind,
    count(*) as row_count,
    count(c.prompt_hash) as told_count
from chosen as c
union all
select
    'answers' as kind,
    count(*) as row_count,
    count(c.output_hash) as told_count
from chosen as c
where c.status = 'ok' and c.operation not in ('embeddings', 'not_itemised')
union all
select
    'truncated answers' as kind,
    count(*) as row_count,
    count(c.input_hash) as told_count
from chosen as c
where
    c.status = 'ok'
    and (
        lower(c.finish_reason) like '%length%'
        or lower(c.finish_reason) like '%max%tokens%'
    )
union all
select
    'failed calls' as kind,
    count(*) as row_count,
    count(coalesce(c.input_hash, cast(c.attempt as varchar))) as told_count
from chosen as c
where c.status <> 'ok'
union all
select
    'embeddings' as kind,
    count(*) as row_count,
    count(c.prompt_hash) as told_count
from chosen as c
where c.operation = 'embeddings'
union all
select
    'tool runs' as kind,
    count(*) as row_count,
    count(t.arguments_hash) as told_count
from tool_runs as t
where
    ($since is null or coalesce(t.started_at, t.ended_at) >= $since)
    and ($until is null or coalesce(t.started_at, t.ended_at) < $until)
    and ($any_trace or t.trace_id in (select n.trace_id from chosen_traces as n))
union all
select
    'retrievals' as kind,
    count(*) as row_count,
    count(v.query_hash) as told_count
from retrievals as v
where
    ($since is null or coalesce(v.started_at, v.ended_at) >= $since)
    and ($until is null or coalesce(v.started_at, v.ended_at) < $until)
    and ($any_trace or v.trace_id in (select n.trace_id from chosen_traces as n))
