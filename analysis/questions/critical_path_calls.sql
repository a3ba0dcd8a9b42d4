-- name: critical_path_calls
-- question: At which spans are calls, when did each of their phases begin, and what was asked?
-- grain: a call at a span of a part of the traces
-- unit: instants in nanoseconds since 1970; tokens; keys are whole numbers for ids and hashes
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $part_no and $part_count choose the
--   traces whose key leaves that rest
-- nulls: service_at, first_token_at, tokens and asked_key where that is not told; group_number
--   where the call is in the trace and was not asked for
-- identity: each call with a trace and a span is in one part, once
select
    key_of(r.trace_id) as trace_key,
    key_of(r.span_id) as span_key,
    r.call_no,
    coalesce(r.arrived_at, r.started_at, r.ended_at) as begun_at,
    case when c.timing_quality = 'ok' then r.started_at end as service_at,
    case when c.timing_quality = 'ok' then r.first_token_at end as first_token_at,
    case
        when
            ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
            and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
            and ($any_user or r.user_id is not distinct from $user_id)
            and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
            then g.value
    end as group_number,
    t.value as time_number,
    case $caller
        when 'user_id' then r.user_id
        when 'conversation_id' then r.conversation_id
    end as caller,
    c.status = 'ok' and coalesce(lower(r.finish_reason) not like '%length%', true) as is_whole,
    c.operation = 'embeddings' as is_embedding,
    r.input_tokens,
    r.output_tokens,
    case when r.prompt_hash is not null then key_of(r.prompt_hash) end as asked_key
from call_rows as r
inner join cohorts as c on r.cohort_id = c.cohort_id
left join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
left join pairs($quarters, $time_numbers) as t
    on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
where
    r.trace_id is not null
    and r.span_id is not null
    and c.operation <> 'not_itemised'
    and key_of(r.trace_id) % $part_count = $part_no
order by begun_at nulls last, r.call_no
