-- name: semantic_cache
-- question: Which questions say the same in other words, so that a guarded cache could answer them?
-- grain: the first call of a question whose text is stored; its exact repetitions are left out
-- unit: instants in nanoseconds since 1970, gpu_seconds in s, cost in currency; text_count in calls
--   with a text and question_count in such questions, both of the endpoint, also beyond $most_rows
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds since 1970,
--   half-open, of the arrival, may be null; $any_user and $any_conversation are false where only
--   the calls of $user_id, $conversation_id count; $most_rows at most, by the hash of the text
-- nulls: gpu_seconds and cost are null where they are not known, each of a row where its call does
--   not tell it
-- identity: over all endpoints, question_count is at most text_count

-- The hash orders the questions as a draw of lots does, the same one in every run. Calls that begin
-- at once go by call_id. An embedding is no answer that could be kept, and what came out of a
-- gateway's cache is saved already.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

asked as (
    select
        r.call_no,
        r.call_id,
        r.cohort_id,
        c.endpoint,
        c.tenant,
        coalesce(r.prompt_hash, r.input_hash) as asked_hash,
        coalesce(r.arrived_at, r.started_at) as begun_at
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join cohort_choice as k on c.cohort_id = k.cohort_id
    inner join contents as t on r.call_id = t.call_id
    where
        c.status = 'ok'
        and c.operation is distinct from 'embeddings'
        and t.prompt is not null
        and r.input_hash is not null
        and not coalesce(r.is_cache_hit, false)
        and coalesce(r.arrived_at, r.started_at) is not null
        and ($since is null or coalesce(r.arrived_at, r.started_at) >= $since)
        and ($until is null or coalesce(r.arrived_at, r.started_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

questions as (
    select
        endpoint,
        tenant,
        asked_hash,
        min_by(call_no, (begun_at, call_id)) as call_no,
        count(*) as call_count
    from asked
    group by endpoint, tenant, asked_hash
),

drawn as (
    select
        call_no,
        asked_hash
    from questions
    order by asked_hash asc, call_no asc
    limit $most_rows
),

totals as (
    select
        endpoint,
        sum(call_count) as text_count,
        count(*) as question_count
    from questions
    group by endpoint
),

spent as (
    select
        h.call_no,
        sum(picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds)) as gpu_ps,
        sum_gpu_cost(
            picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds),
            p.price_per_gpu_hour
        ) as gpu_cost,
        count(*) = count(p.price_per_gpu_hour) as is_priced,
        max(p.currency) as currency,
        count(distinct p.currency) as currency_count
    from charges as h
    inner join pools as p on h.rate_id = p.rate_id
    where h.call_no in (select d.call_no from drawn as d)
    group by h.call_no
)

select
    r.call_id,
    c.endpoint,
    c.tenant,
    r.user_id,
    c.model,
    r.input_hash,
    r.tools_hash,
    r.tools_hash is null and coalesce(r.tools_tokens, 0) > 0 as is_tools_unknown,
    r.temperature,
    r.max_tokens,
    r.top_p,
    r.seed,
    r.stop,
    r.response_format,
    r.n_choices,
    coalesce(r.arrived_at, r.started_at) as begun_at,
    r.ended_at,
    cast(s.gpu_ps as double) / 1e12 as gpu_seconds,
    case
        when s.is_priced and s.currency_count = 1 then s.gpu_cost
        when s.call_no is null then cast(k.token_cost as decimal(38, 9))
    end as cost,
    case
        when s.is_priced and s.currency_count = 1 then s.currency
        when s.call_no is null then k.currency
    end as currency,
    t.prompt,
    cast(o.text_count as bigint) as text_count,
    o.question_count
from drawn as d
inner join call_rows as r on d.call_no = r.call_no
inner join cohorts as c on r.cohort_id = c.cohort_id
inner join contents as t on r.call_id = t.call_id
inner join totals as o on c.endpoint is not distinct from o.endpoint
left join spent as s on r.call_no = s.call_no
left join token_charges as k on r.call_no = k.call_no
order by begun_at asc, r.call_id asc
