-- name: chunks
-- question: How much of the context is there twice, is markup, or is not taken up by the answer?
-- grain: a group, a time and a caller, where asked for
-- unit: calls, tokens, GPU-seconds of prefill; docs/counting.md says what a chunk and each part is
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: figures of tokens are null where the prompt of no call was measured, untouched_tokens
--   where no answer could be compared, GPU-seconds where no call has a charge
-- identity: known_count + unknown_count = call_count = calls that began service in the window;
--   duplicate_tokens + markup_tokens + near_duplicate_tokens + untouched_tokens <= chunk_tokens;
--   saved_tokens <= duplicate_tokens + markup_tokens

-- What a call saves without its duplicates and markup is in the table removable_chunks, by call.
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
        p.chunked_tokens,
        p.duplicate_tokens,
        p.markup_tokens,
        p.near_duplicate_tokens,
        p.untouched_tokens
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
)

select
    m.group_number,
    m.time_number,
    m.caller,
    count(*) as call_count,
    count(m.chunked_tokens) as known_count,
    count(*) - count(m.chunked_tokens) as unknown_count,
    count(nullif(m.chunked_tokens, 0)) as chunked_count,
    cast(sum(m.chunked_tokens) as bigint) as chunk_tokens,
    cast(sum(m.duplicate_tokens) as bigint) as duplicate_tokens,
    cast(sum(m.markup_tokens) as bigint) as markup_tokens,
    cast(sum(m.near_duplicate_tokens) as bigint) as near_duplicate_tokens,
    count(m.untouched_tokens) as judged_count,
    cast(sum(case when m.untouched_tokens is not null then m.chunked_tokens end) as bigint)
        as judged_tokens,
    cast(sum(m.untouched_tokens) as bigint) as untouched_tokens,
    cast(sum(whole(c.prefill_ps)) as double) / 1e12 as prefill_gpu_seconds,
    cast(coalesce(sum(s.saved_tokens), 0) as bigint) as saved_tokens,
    cast(
        sum(
            case
                when c.prefill_ps is not null
                    then whole(coalesce(c.prefill_ps * s.prefill_ratio, 0))
            end
        ) as double
    ) / 1e12 as saved_gpu_seconds
from measured as m
left join charged as c on m.call_no = c.call_no
left join removable_chunks as s on m.call_no = s.call_no
group by m.group_number, m.time_number, m.caller
order by m.group_number, m.time_number nulls last, m.caller nulls last
