-- name: chains
-- question: Which calls came right after another whose answer seems to be in their prompt?
-- grain: a call that could be one with the call before it
-- unit: tokens
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $most_gap_ns is how long after the
--   other a call may begin; $new_ratio is how much of a prompt may be new, $most_ratio how much of
--   it the answer before has to be
-- nulls: uncached_input_tokens where that is not told
-- identity: shared_tokens <= input_tokens; a call is in at most one row

-- One trace, one model, one after the other and nothing between: no tool, no retrieval, no other
-- call, no failure. Evidence is prefix where the blocks of the prompt before begin this one, which
-- is longer by the answer at least; sum where only the lengths say so; most where the answer before
-- is as long as most of this prompt. Reasoning is not handed on.
with steps as (
    select
        key_of(r.trace_id) as trace_key,
        r.call_no,
        c.model,
        case
            when c.status <> 'ok' or c.operation in ('embeddings', 'not_itemised') then 'other'
            when lower(r.finish_reason) like '%length%' then 'other'
            when lower(r.finish_reason) like '%tool%' then 'other'
            when lower(r.finish_reason) like '%function%' then 'other'
            else 'call'
        end as kind,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at,
        r.input_tokens,
        r.visible_output_tokens as answer_tokens
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    where r.trace_id is not null and c.origin = 'production'
    union all
    select
        key_of(trace_id) as trace_key,
        null as call_no,
        null as model,
        'other' as kind,
        started_at as begun_at,
        ended_at,
        null as input_tokens,
        null as answer_tokens
    from tool_runs
    union all
    select
        key_of(trace_id) as trace_key,
        null as call_no,
        null as model,
        'other' as kind,
        started_at as begun_at,
        ended_at,
        null as input_tokens,
        null as answer_tokens
    from retrievals
),

followed as (
    select
        call_no,
        model,
        begun_at,
        input_tokens,
        lag(kind) over in_turn as kind_before,
        lag(call_no) over in_turn as call_no_before,
        lag(model) over in_turn as model_before,
        lag(ended_at) over in_turn as ended_before,
        lag(input_tokens) over in_turn as input_before,
        lag(answer_tokens) over in_turn as answer_before
    from steps
    window in_turn as (
        partition by trace_key
        order by begun_at, call_no nulls first
    )
),

near as (
    select
        *,
        input_tokens - input_before - answer_before as new_tokens
    from followed
    where
        call_no is not null
        and kind_before = 'call'
        and model is not distinct from model_before
        and begun_at >= ended_before
        and begun_at - ended_before <= $most_gap_ns
        and answer_before > 0
        and input_tokens >= answer_before
),

compared as (
    select
        n.*,
        r.cohort_id,
        r.user_id,
        r.conversation_id,
        r.uncached_input_tokens,
        coalesce(r.cache_read_tokens, 0) as cache_read_tokens,
        coalesce(r.started_at, r.arrived_at, r.ended_at) as service_at,
        case
            when size_of(p.prefix_hashes) > 0 and r.prefix_hashes is not null
                then coalesce(
                    item_of(r.prefix_hashes, size_of(p.prefix_hashes))
                    = item_of(p.prefix_hashes, size_of(p.prefix_hashes)),
                    false
                )
        end as is_begun
    from near as n
    inner join call_rows as r on n.call_no = r.call_no
    inner join call_rows as p on n.call_no_before = p.call_no
    where r.prompt_hash is null or r.prompt_hash is distinct from p.prompt_hash
),

judged as (
    select
        *,
        case
            when is_begun and new_tokens >= 0 then 'prefix'
            when is_begun is null and new_tokens between 0 and $new_ratio * input_tokens then 'sum'
            when answer_before >= $most_ratio * input_tokens then 'most'
        end as evidence
    from compared
)

select
    j.call_no,
    j.call_no_before,
    g.value as group_number,
    t.value as time_number,
    case $caller
        when 'user_id' then j.user_id
        when 'conversation_id' then j.conversation_id
    end as caller,
    j.evidence,
    j.input_tokens,
    case when j.evidence = 'most' then j.answer_before else j.input_before + j.answer_before end
        as shared_tokens,
    j.cache_read_tokens,
    j.uncached_input_tokens
from judged as j
inner join pairs($cohort_ids, $group_numbers) as g on j.cohort_id = g.key
left join pairs($quarters, $time_numbers) as t on quarter_of(j.service_at) = t.key
where
    j.evidence is not null
    and ($since is null or j.service_at >= $since)
    and ($until is null or j.service_at < $until)
    and ($any_user or j.user_id is not distinct from $user_id)
    and ($any_conversation or j.conversation_id is not distinct from $conversation_id)
order by j.call_no
