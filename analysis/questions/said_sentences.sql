-- name: said_sentences
-- question: Which calls say a sentence that many answers of their endpoint say?
-- grain: a call and a sentence of it, by its hash
-- unit: tokens; decode_ratio from 0 to 1, of the output of the call
-- params: $endpoint_cohort_ids and $endpoint_numbers say which endpoint each cohort is of;
--   $least_tokens is the length of the shortest sentence that counts; $since and $until in
--   nanoseconds or null; is_asked is false where only the calls of another $user_id or
--   $conversation_id count, true where $any_user and $any_conversation are
-- nulls: none
-- identity: decode_ratio of all sentences of a call add up to at most 1

-- The table repeated_sentences has the sentences that may be boilerplate. One that says the
-- question again is not: `restated_tokens` has it.
with answers as (
    select
        e.value as endpoint_number,
        r.call_no,
        key_of(coalesce(r.output_hash, r.call_id)) as answer_key,
        coalesce(r.visible_output_tokens * 1e0 / nullif(r.output_tokens, 0), 1e0)
        / greatest(r.answer_tokens, coalesce(r.visible_output_tokens, r.output_tokens, 0))
            as token_ratio,
        coalesce(r.restated_tokens, 0) as restated_tokens,
        ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
            as is_asked,
        r.sentence_hashes,
        r.sentence_lengths,
        size_of(r.sentence_hashes) as sentence_count
    from call_rows as r
    inner join pairs($endpoint_cohort_ids, $endpoint_numbers) as e on r.cohort_id = e.key
    where
        r.sentence_hashes is not null
        and r.answer_tokens > 0
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
),

placed as (
    select
        *,
        explode(sequence(1, sentence_count)) as place
    from answers
    where sentence_count > 1
),

told as (
    select
        endpoint_number,
        call_no,
        answer_key,
        token_ratio,
        is_asked,
        item_of(sentence_hashes, place) as sentence_hash,
        item_of(sentence_lengths, place) as sentence_tokens,
        restated_tokens > 0
        and (place = 1 or (place = 2 and restated_tokens > item_of(sentence_lengths, 1)))
            as is_restated
    from placed
)

select
    t.endpoint_number,
    t.call_no,
    t.answer_key,
    t.sentence_hash,
    max(t.sentence_tokens) as sentence_tokens,
    cast(sum(t.sentence_tokens) as bigint) as tokens,
    least(sum(t.sentence_tokens) * max(t.token_ratio), 1e0) as decode_ratio,
    t.is_asked
from told as t
inner join repeated_sentences as s
    on t.endpoint_number = s.endpoint_number and t.sentence_hash = s.sentence_hash
where t.sentence_tokens >= $least_tokens and not t.is_restated
group by t.endpoint_number, t.call_no, t.answer_key, t.sentence_hash, t.is_asked
order by t.call_no, t.sentence_hash
