-- name: few_outputs
-- question: Which groups of calls are answered with few distinct values, and how even are these?
-- grain: a group, a time and a caller, where asked for
-- unit: calls; distinct values; tokens; entropy_bits is the mean information of an answer in bits
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $value_count values are the most
--   frequent ones
-- nulls: entropy_bits and ratios where no answer's hash is told; prompt_count where no prompt's is;
--   output_p95_tokens where no answer tells its tokens
-- identity: told_count + untold_count = answered_count, the calls that were answered;
--   top_1_ratio <= top_10_ratio <= 1; distinct_count <= told_count; entropy_bits <=
--   log2(distinct_count)

-- Values are compared by the hash of the whole answer. What failed and embeddings have no answer.
-- A value that was given once is not ranked: any of these is as frequent as the other.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        case when r.output_hash is not null then key_of(r.output_hash) end as output_key,
        case when r.prompt_hash is not null then key_of(r.prompt_hash) end as prompt_key,
        length_of(r.output_tokens, r.input_tokens, r.output_tokens) as output_tokens
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        c.status = 'ok'
        and c.operation not in ('embeddings', 'not_itemised')
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

answers as (
    select
        group_number,
        time_number,
        caller,
        count(*) as answered_count,
        count(output_key) as told_count,
        nullif(count(distinct prompt_key), 0) as prompt_count,
        percentile(output_tokens, 0.95) as output_p95_tokens
    from measured
    group by group_number, time_number, caller
),

given as (
    select
        group_number,
        time_number,
        caller,
        output_key,
        count(*) as call_count
    from measured
    where output_key is not null
    group by group_number, time_number, caller, output_key
),

ranked as (
    select
        *,
        row_number() over (
            partition by group_number, time_number, caller
            order by call_count desc, output_key asc
        ) as place
    from given
    where call_count > 1
),

tops as (
    select
        group_number,
        time_number,
        caller,
        sum(call_count) as top_count,
        count(*) as value_count
    from ranked
    where place <= $value_count
    group by group_number, time_number, caller
),

spread as (
    select
        group_number,
        time_number,
        caller,
        count(*) as distinct_count,
        count(case when call_count = 1 then 1 end) as once_count,
        max(call_count) as most_count,
        sum(call_count * ln(call_count)) as weighted_ln
    from given
    group by group_number, time_number, caller
)

select
    a.group_number,
    a.time_number,
    a.caller,
    a.answered_count,
    a.told_count,
    a.answered_count - a.told_count as untold_count,
    a.prompt_count,
    coalesce(s.distinct_count, 0) as distinct_count,
    s.most_count * 1e0 / nullif(a.told_count, 0) as top_1_ratio,
    (
        coalesce(t.top_count, 0)
        + least(s.once_count, $value_count - coalesce(t.value_count, 0))
    ) * 1e0 / nullif(a.told_count, 0) as top_10_ratio,
    case
        when a.told_count > 0
            then greatest(ln(a.told_count) - s.weighted_ln / a.told_count, 0e0) / ln(2e0)
    end as entropy_bits,
    a.output_p95_tokens
from answers as a
left join spread as s
    on
        a.group_number = s.group_number
        and a.time_number is not distinct from s.time_number
        and a.caller is not distinct from s.caller
left join tops as t
    on
        a.group_number = t.group_number
        and a.time_number is not distinct from t.time_number
        and a.caller is not distinct from t.caller
order by a.group_number, a.time_number nulls last, a.caller nulls last
