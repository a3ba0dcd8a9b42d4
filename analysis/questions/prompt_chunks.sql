-- name: prompt_chunks
-- question: Which chunks do the prompts of the window hold?
-- grain: a call whose prompt has a chunk
-- unit: tokens; chunks as lists in the order of the prompt, docs/counting.md says what they are
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: time_number and caller where not asked for
-- identity: the lists of a call have one length; held < size; told_held <= told <= size

-- `size` is of the whole prompt and `told` of its sections, over which the places of chunks are
-- counted; `held` and `told_held` are what a cache held of each, as in prompt_sections.
with placed as (
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
        greatest(
            coalesce(r.input_tokens, 0),
            coalesce(r.tools_tokens, 0) + coalesce(r.system_tokens, 0)
            + coalesce(r.examples_tokens, 0) + coalesce(r.history_tokens, 0)
            + coalesce(r.context_tokens, 0) + coalesce(r.user_tokens, 0)
        ) as size,
        coalesce(r.tools_tokens, 0) + coalesce(r.system_tokens, 0)
        + coalesce(r.examples_tokens, 0) + coalesce(r.history_tokens, 0)
        + coalesce(r.context_tokens, 0) + coalesce(r.user_tokens, 0) as told,
        p.chunk_hashes,
        p.chunk_signatures,
        p.chunk_begins,
        p.chunk_tokens,
        p.chunk_markup_tokens,
        p.chunk_is_result
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    inner join call_prompts as p on r.call_id = p.call_id
    where
        p.chunked_tokens > 0
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

sized as (
    select
        *,
        least(
            size * 1e0 * cached_tokens / greatest(coalesce(input_tokens, 0), 1), size - 1
        ) as held
    from placed
    where size > 0
)

select
    group_number,
    time_number,
    caller,
    call_no,
    size,
    held,
    cast(ceil(told * held / size) as bigint) as told_held,
    chunk_hashes,
    chunk_signatures,
    chunk_begins,
    chunk_tokens,
    chunk_markup_tokens,
    chunk_is_result
from sized
