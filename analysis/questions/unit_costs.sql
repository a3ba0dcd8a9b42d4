-- name: unit_costs
-- question: What does a call cost, 1,000 tokens, a conversation, a workflow that came to its end?
-- grain: a group, a time and a caller, where asked for, in a currency; counts of conversations,
--   workflows and unpriced calls are of the whole group, in each of its rows
-- unit: money in currency; GPU-seconds; calls, conversations and workflows; a cost_per is of one of
--   them, or of 1,000 tokens. A workflow is a trace, without one a conversation, without one a
--   call; it is resolved where its root span is no error, without one where its last call is ok
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: a cost is null where the calls have no price, and a cost_per also where there is nothing
--   to divide by; GPU-seconds are null where none of the calls ran on a pool. Calls without a price
--   have a row of their own, idle time has none
-- identity: cost is that of the lines of calls of law; cost_per_call * call_count = cost, and so
--   with tokens / 1,000 and resolved workflows, and with conversations of conversation_cost; the
--   call_count of a group's rows add up to its calls. A workflow counts in each group that it has
--   a call in

-- Conversations and workflows are counted by whole numbers that stand for their ids.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        case when r.conversation_id is not null then key_of(r.conversation_id) end
            as conversation_key,
        case
            when r.trace_id is not null then key_of('trace ' || r.trace_id)
            when r.conversation_id is not null then key_of('conversation ' || r.conversation_id)
            else -1 - r.call_no
        end as workflow_key,
        case when c.status = 'ok' then 1 else 0 end as is_ok,
        coalesce(r.ended_at, r.started_at, r.arrived_at) as ended_at,
        r.call_no,
        r.output_tokens
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    inner join cohorts as c on r.cohort_id = c.cohort_id
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

roots as (
    select
        key_of('trace ' || trace_id) as workflow_key,
        max(case when status = 'error' then 1 else 0 end) as is_failed
    from spans
    where parent_span_id is null
    group by key_of('trace ' || trace_id)
),

last_calls as (
    select
        m.workflow_key,
        max_by(m.is_ok, (m.ended_at, m.call_no)) as is_ok
    from measured as m
    left join roots as r on m.workflow_key = r.workflow_key
    where r.workflow_key is null
    group by m.workflow_key
),

workflows as (
    select
        group_number,
        time_number,
        caller,
        workflow_key,
        count(*) as call_count
    from measured
    group by group_number, time_number, caller, workflow_key
),

resolved as (
    select
        w.group_number,
        w.time_number,
        w.caller,
        count(*) as workflow_count,
        count(case when coalesce(1 - r.is_failed, l.is_ok) = 1 then 1 end) as resolved_count
    from workflows as w
    left join roots as r on w.workflow_key = r.workflow_key
    left join last_calls as l on w.workflow_key = l.workflow_key
    group by w.group_number, w.time_number, w.caller
),

conversations as (
    select
        group_number,
        time_number,
        caller,
        conversation_key,
        count(*) as call_count,
        count(output_tokens) as known_output_count
    from measured
    group by group_number, time_number, caller, conversation_key
),

counted as (
    select
        group_number,
        time_number,
        caller,
        cast(sum(call_count) as bigint) as call_count,
        cast(sum(call_count) - sum(known_output_count) as bigint) as unknown_output_count,
        count(conversation_key) as conversation_count,
        cast(
            coalesce(sum(case when conversation_key is null then call_count end), 0) as bigint
        ) as no_conversation_count
    from conversations
    group by group_number, time_number, caller
)

select
    c.group_number,
    c.time_number,
    c.caller,
    c.call_count,
    c.unknown_output_count,
    c.conversation_count,
    c.no_conversation_count,
    r.workflow_count,
    r.resolved_count
from counted as c
inner join resolved as r
    on
        c.group_number = r.group_number
        and c.time_number is not distinct from r.time_number
        and c.caller is not distinct from r.caller
order by c.group_number, c.time_number nulls last, c.caller nulls last
