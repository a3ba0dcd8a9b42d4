-- name: examples
-- question: Which few-shot examples are sent again and again, and what do they cost to read?
-- grain: a group, a time and a caller, where asked for, and a block of examples
-- unit: calls, tokens, GPU-seconds of prefill
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: examples_hash is null in the row of the other calls: their prompts show no examples, or
--   examples that no other call of the group has, or their texts were not seen; figures of examples
--   where no call of the row has any; GPU-seconds where no call has a charge
-- identity: call_count over the blocks = calls that began service in the window;
--   prefill_gpu_seconds add up to the prefill of law, examples_gpu_seconds <= prefill_gpu_seconds

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
        p.call_id is not null as is_measured,
        p.examples_hash as told_hash,
        r.input_tokens,
        coalesce(r.cache_read_tokens, 0) as cached_tokens,
        r.examples_tokens,
        coalesce(r.history_tokens, 0) + coalesce(r.context_tokens, 0)
        + coalesce(r.user_tokens, 0) as later_tokens,
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

-- Examples that one call alone has are chosen for it.
blocks as (
    select
        group_number,
        time_number,
        caller,
        told_hash
    from measured
    where told_hash is not null
    group by group_number, time_number, caller, told_hash
    having count(*) > 1
),

placed as (
    select
        m.*,
        b.told_hash as examples_hash,
        case
            when m.size > 0
                then least(
                    m.size * 1e0 * m.cached_tokens
                    / greatest(coalesce(m.input_tokens, 0), 1),
                    m.size - 1
                )
            else 0
        end as held
    from measured as m
    left join blocks as b
        on
            m.group_number = b.group_number
            and m.time_number is not distinct from b.time_number
            and m.caller is not distinct from b.caller
            and m.told_hash = b.told_hash
)

select
    m.group_number,
    m.time_number,
    m.caller,
    m.examples_hash,
    count(*) as call_count,
    count(case when m.is_measured then 1 end) as known_count,
    count(m.told_hash) as shown_count,
    cast(sum(nullif(m.size, 0)) as bigint) as input_tokens,
    cast(sum(m.examples_tokens) as bigint) as examples_tokens,
    sum(m.examples_tokens) * 1e0 / nullif(sum(m.size), 0) as examples_ratio,
    sum(m.examples_tokens) * 1e0 / nullif(count(m.examples_tokens), 0) as mean_examples_tokens,
    cast(sum(whole(c.prefill_ps)) as double) / 1e12 as prefill_gpu_seconds,
    cast(
        sum(
            case
                when m.size > 0 and m.examples_tokens is not null
                    then whole(
                        c.prefill_ps / (m.size - m.held)
                        * greatest(
                            m.told_tokens - m.later_tokens
                            - greatest(
                                m.told_tokens * m.held / m.size,
                                m.told_tokens - m.later_tokens - m.examples_tokens
                            ),
                            0
                        )
                    )
            end
        ) as double
    ) / 1e12 as examples_gpu_seconds
from placed as m
left join charged as c on m.call_no = c.call_no
group by m.group_number, m.time_number, m.caller, m.examples_hash
order by
    m.group_number asc,
    m.time_number asc nulls last,
    m.caller asc nulls last,
    (m.examples_hash is null) asc,
    examples_tokens desc nulls last,
    m.examples_hash asc
