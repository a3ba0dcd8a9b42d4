-- name: sentence_counts
-- question: Which sentences come in many answers of an endpoint?
-- grain: an endpoint and a sentence, by its hash, that is in enough answers
-- unit: answer_count in different answers of the sample
-- params: $endpoint_cohort_ids and $endpoint_numbers say which endpoint each cohort is of; of the
--   endpoints in $sampled_numbers one call in $strides is looked at, by lot, and $least_numbers
--   says by $least_endpoints in how many different answers a sentence has to be; $least_tokens is
--   the length of the shortest that counts; $since and $until in nanoseconds or null
-- nulls: none
-- identity: with a stride of 1, answer_count is that of the sentence in said_sentences

-- A sentence that is the whole answer is no boilerplate: answers of one sentence are left out, and
-- answers that are equal count once.
with answers as (
    select
        e.value as endpoint_number,
        key_of(coalesce(r.output_hash, r.call_id)) as answer_key,
        r.sentence_hashes,
        r.sentence_lengths,
        size_of(r.sentence_hashes) as sentence_count
    from call_rows as r
    inner join pairs($endpoint_cohort_ids, $endpoint_numbers) as e on r.cohort_id = e.key
    inner join pairs($sampled_numbers, $strides) as s on e.value = s.key
    where
        r.sentence_hashes is not null
        and key_of(r.call_id) % s.value = 0
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
        answer_key,
        item_of(sentence_hashes, place) as sentence_hash,
        item_of(sentence_lengths, place) as sentence_tokens
    from placed
),

counted as (
    select
        endpoint_number,
        sentence_hash,
        count(distinct answer_key) as answer_count
    from told
    where sentence_tokens >= $least_tokens
    group by endpoint_number, sentence_hash
)

select
    c.endpoint_number,
    c.sentence_hash,
    c.answer_count
from counted as c
inner join pairs($least_endpoints, $least_numbers) as n on c.endpoint_number = n.key
where c.answer_count >= n.value
order by c.endpoint_number, c.sentence_hash
