-- name: prompt_sections
-- question: What do prompts consist of, and what does each part of them cost to read?
-- grain: a group, a time and a caller, where asked for, and a section of the prompt
-- unit: calls; tokens as counted by section; GPU-seconds of prefill
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $sections are the names in order
-- nulls: figures of tokens are null where no call of the group shows such a section;
--   prefill_gpu_seconds where no call has a charge
-- identity: known_count + unknown_count = call_count = calls that began service in the window;
--   share_ratio adds up to 1 over the sections, prefill_gpu_seconds to the prefill of law

-- `other` is what the sections do not cover of the input: the chat format, what telemetry leaves
-- out or cuts off, and what another tokenizer counts more. A prompt reads tools, system, examples,
-- history, context, user in this order, and `other` anywhere between. A prefix cache holds what
-- comes first: prefill is shared by the tokens that were not read from a cache, by the last one
-- where all were.
with charged as (
    select
        c.call_no,
        sum(picoseconds(c.prefill_gpu_seconds)) as prefill_ps
    from charges as c
    inner join pairs($cohort_ids, $group_numbers) as g on c.cohort_id = g.key
    group by c.call_no
),

measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.call_no,
        r.input_tokens,
        coalesce(r.cache_read_tokens, 0) as cached_tokens,
        r.tools_tokens,
        r.system_tokens,
        r.examples_tokens,
        r.history_tokens,
        r.context_tokens,
        r.user_tokens,
        coalesce(r.tools_tokens, 0) + coalesce(r.system_tokens, 0)
        + coalesce(r.examples_tokens, 0) + coalesce(r.history_tokens, 0)
        + coalesce(r.context_tokens, 0) + coalesce(r.user_tokens, 0) as told_tokens
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

sized as (
    select
        m.*,
        c.prefill_ps,
        case
            when m.input_tokens is not null or m.told_tokens > 0
                then greatest(coalesce(m.input_tokens, 0) - m.told_tokens, 0)
        end as other_tokens,
        greatest(coalesce(m.input_tokens, 0), m.told_tokens) as size
    from measured as m
    left join charged as c on m.call_no = c.call_no
),

placed as (
    select
        *,
        case
            when size > 0
                then least(
                    size * 1e0 * cached_tokens / greatest(coalesce(input_tokens, 0), 1), size - 1
                )
            else 0
        end as held
    from sized
),

-- Where each section ends, and how much of all of them a cache held.
ended as (
    select
        *,
        coalesce(tools_tokens, 0) as to_tools,
        coalesce(tools_tokens, 0) + coalesce(system_tokens, 0) as to_system,
        coalesce(tools_tokens, 0) + coalesce(system_tokens, 0)
        + coalesce(examples_tokens, 0) as to_examples,
        told_tokens - coalesce(user_tokens, 0) - coalesce(context_tokens, 0) as to_history,
        told_tokens - coalesce(user_tokens, 0) as to_context,
        told_tokens * held / nullif(size, 0) as told_held
    from placed
),

shared as (
    select
        *,
        case when size > 0 then prefill_ps / (size - held) end as token_ps
    from ended
),

summed as (
    select
        group_number,
        time_number,
        caller,
        count(*) as call_count,
        count(case when told_tokens = 0 then 1 end) as unseen_count,
        count(other_tokens) as other_count,
        count(tools_tokens) as tools_count,
        count(system_tokens) as system_count,
        count(examples_tokens) as examples_count,
        count(history_tokens) as history_count,
        count(context_tokens) as context_count,
        count(user_tokens) as user_count,
        cast(sum(other_tokens) as bigint) as other_sum,
        cast(sum(tools_tokens) as bigint) as tools_sum,
        cast(sum(system_tokens) as bigint) as system_sum,
        cast(sum(examples_tokens) as bigint) as examples_sum,
        cast(sum(history_tokens) as bigint) as history_sum,
        cast(sum(context_tokens) as bigint) as context_sum,
        cast(sum(user_tokens) as bigint) as user_sum,
        percentile(other_tokens, 0.95) as other_p95,
        percentile(tools_tokens, 0.95) as tools_p95,
        percentile(system_tokens, 0.95) as system_p95,
        percentile(examples_tokens, 0.95) as examples_p95,
        percentile(history_tokens, 0.95) as history_p95,
        percentile(context_tokens, 0.95) as context_p95,
        percentile(user_tokens, 0.95) as user_p95,
        cast(sum(size) as bigint) as size_sum,
        sum(whole(prefill_ps)) as prefill_ps,
        sum(whole((size - held) * other_tokens / nullif(size, 0) * token_ps)) as other_ps,
        sum(whole(greatest(to_tools - told_held, 0) * token_ps)) as tools_ps,
        sum(whole(greatest(to_system - greatest(told_held, to_tools), 0) * token_ps))
            as system_ps,
        sum(whole(greatest(to_examples - greatest(told_held, to_system), 0) * token_ps))
            as examples_ps,
        sum(whole(greatest(to_history - greatest(told_held, to_examples), 0) * token_ps))
            as history_ps,
        sum(whole(greatest(to_context - greatest(told_held, to_history), 0) * token_ps))
            as context_ps
    from shared
    group by group_number, time_number, caller
),

section_choice as (
    select explode($sections) as section
),

sectioned as (
    select
        s.group_number,
        s.time_number,
        s.caller,
        n.section,
        s.call_count,
        s.unseen_count,
        s.size_sum,
        case n.section
            when 'tools' then s.tools_count
            when 'system' then s.system_count
            when 'examples' then s.examples_count
            when 'history' then s.history_count
            when 'context' then s.context_count
            when 'user' then s.user_count
            else s.other_count
        end as known_count,
        case n.section
            when 'tools' then s.tools_sum
            when 'system' then s.system_sum
            when 'examples' then s.examples_sum
            when 'history' then s.history_sum
            when 'context' then s.context_sum
            when 'user' then s.user_sum
            else s.other_sum
        end as tokens,
        case n.section
            when 'tools' then s.tools_p95
            when 'system' then s.system_p95
            when 'examples' then s.examples_p95
            when 'history' then s.history_p95
            when 'context' then s.context_p95
            when 'user' then s.user_p95
            else s.other_p95
        end as p95_tokens,
        case n.section
            when 'tools' then s.tools_ps
            when 'system' then s.system_ps
            when 'examples' then s.examples_ps
            when 'history' then s.history_ps
            when 'context' then s.context_ps
            when 'user'
                then
                    s.prefill_ps - coalesce(s.other_ps, 0) - coalesce(s.tools_ps, 0)
                    - coalesce(s.system_ps, 0) - coalesce(s.examples_ps, 0)
                    - coalesce(s.history_ps, 0) - coalesce(s.context_ps, 0)
            else s.other_ps
        end as section_ps
    from summed as s
    cross join section_choice as n
)

select
    group_number,
    time_number,
    caller,
    section,
    call_count,
    known_count,
    call_count - known_count as unknown_count,
    unseen_count,
    tokens,
    tokens * 1e0 / nullif(size_sum, 0) as share_ratio,
    tokens * 1e0 / nullif(known_count, 0) as mean_tokens,
    p95_tokens,
    cast(section_ps as double) / 1e12 as prefill_gpu_seconds
from sectioned
order by group_number, time_number nulls last, caller nulls last, section
