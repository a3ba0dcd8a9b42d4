-- name: history
-- question: How much of the input is the conversation so far, by its turn?
-- grain: a group, a time and a caller, where asked for, and a turn
-- unit: calls, tokens, GPU-seconds of prefill; a turn is the number of runs of messages of the user
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $last_turn stands
--   for itself and all later turns
-- nulls: turn is null where it is not known: the prompt was not seen, is no chat, or came before
--   turns were counted; figures of history where no call of the row tells it; GPU-seconds where no
--   call has a charge
-- identity: call_count over the turns = calls that began service in the window;
--   prefill_gpu_seconds add up to the prefill of law, history_gpu_seconds <= prefill_gpu_seconds

-- Prefill is shared by the tokens of a prompt that no cache held, as in prompt_sections.
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
        case when p.user_turns is not null then least(p.user_turns, $last_turn) end as turn,
        r.input_tokens,
        coalesce(r.cache_read_tokens, 0) as cached_tokens,
        r.history_tokens,
        coalesce(r.context_tokens, 0) + coalesce(r.user_tokens, 0) as later_tokens,
        coalesce(r.tools_tokens, 0) + coalesce(r.system_tokens, 0)
        + coalesce(r.examples_tokens, 0) + coalesce(r.history_tokens, 0)
        + coalesce(r.context_tokens, 0) + coalesce(r.user_tokens, 0) as told_tokens,
        greatest(
            coalesce(r.input_tokens, 0),
            coalesce(r.tools_tokens, 0) + coalesce(r.system_tokens, 0)
            + coalesce(r.examples_tokens, 0) + coalesce(r.history_tokens, 0)
            + coalesce(r.context_tokens, 0) + coalesce(r.user_tokens, 0)
        ) as size
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    left join call_prompts as p on r.call_id = p.call_id
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

placed as (
    select
        *,
        case
            when size > 0
                then least(
                    size * 1e0 * cached_tokens
                    / greatest(coalesce(input_tokens, 0), 1),
                    size - 1
                )
            else 0
        end as held
    from measured
)

select
    m.group_number,
    m.time_number,
    m.caller,
    m.turn,
    count(*) as call_count,
    count(m.history_tokens) as known_count,
    cast(sum(nullif(m.size, 0)) as bigint) as input_tokens,
    cast(sum(m.history_tokens) as bigint) as history_tokens,
    sum(m.history_tokens) * 1e0
    / nullif(sum(case when m.history_tokens is not null then m.size end), 0) as history_ratio,
    sum(m.history_tokens) * 1e0 / nullif(count(m.history_tokens), 0) as mean_history_tokens,
    percentile(m.history_tokens, 0.95) as p95_history_tokens,
    cast(sum(whole(c.prefill_ps)) as double) / 1e12 as prefill_gpu_seconds,
    cast(
        sum(
            case
                when m.size > 0 and m.history_tokens is not null
                    then whole(
                        c.prefill_ps / (m.size - m.held)
                        * greatest(
                            m.told_tokens - m.later_tokens
                            - greatest(
                                m.told_tokens * m.held / m.size,
                                m.told_tokens - m.later_tokens - m.history_tokens
                            ),
                            0
                        )
                    )
            end
        ) as double
    ) / 1e12 as history_gpu_seconds
from placed as m
left join charged as c on m.call_no = c.call_no
group by m.group_number, m.time_number, m.caller, m.turn
order by m.group_number, m.time_number nulls last, m.caller nulls last, m.turn nulls last
