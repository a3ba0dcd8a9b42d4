-- name: boilerplate
-- question: Which sentences come in many answers, and what do they cost?
-- grain: a group, a time and a caller, where asked for, and a sentence that many answers have
-- unit: calls; tokens; GPU-seconds of decode; cost in currency; ratios from 0 to 1
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: text is null where texts are not stored; GPU-seconds where no call was charged; cost where
--   what output costs is not known or in several currencies
-- identity: tokens <= the measured tokens of the group's answers, of which they are output_ratio;
--   decode_gpu_seconds add up to the claims of boilerplate

-- The table boilerplate_said has the calls that say such a sentence, output_costs what the output
-- of each call priced by the token costs, in billionths.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.call_no,
        r.call_id,
        r.answer_tokens
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        r.answer_tokens is not null
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

answered as (
    select
        group_number,
        time_number,
        caller,
        count(*) as measured_count,
        sum(answer_tokens) as answer_tokens
    from measured
    group by group_number, time_number, caller
),

said as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        m.call_no,
        m.call_id,
        b.sentence_hash,
        b.answer_key,
        b.sentence_tokens,
        b.tokens,
        b.decode_ratio
    from boilerplate_said as b
    inner join measured as m on b.call_no = m.call_no
),

charged as (
    select
        c.call_no,
        c.rate_id,
        sum(picoseconds(c.decode_gpu_seconds)) as decode_ps
    from charges as c
    where c.call_no in (select b.call_no from boilerplate_said as b)
    group by c.call_no, c.rate_id
),

spent as (
    select
        s.group_number,
        s.time_number,
        s.caller,
        s.sentence_hash,
        c.rate_id,
        sum(whole(floor(c.decode_ps * s.decode_ratio))) as decode_ps
    from said as s
    inner join charged as c on s.call_no = c.call_no
    group by s.group_number, s.time_number, s.caller, s.sentence_hash, c.rate_id
),

parts as (
    select
        s.group_number,
        s.time_number,
        s.caller,
        s.sentence_hash,
        max(s.sentence_tokens) as sentence_tokens,
        count(*) as call_count,
        count(distinct s.answer_key) as answer_count,
        sum(s.tokens) as tokens,
        min(s.call_id) as example_call_id,
        cast(null as hugeint) as decode_ps,
        cast(
            sum(whole(floor(o.output_billionths * s.decode_ratio))) * 0.000000001 as decimal(38, 9)
        ) as cost,
        min(o.currency) as currency,
        max(o.currency) as last_currency
    from said as s
    left join output_costs as o on s.call_no = o.call_no
    group by s.group_number, s.time_number, s.caller, s.sentence_hash
    union all
    select
        s.group_number,
        s.time_number,
        s.caller,
        s.sentence_hash,
        null as sentence_tokens,
        0 as call_count,
        0 as answer_count,
        null as tokens,
        null as example_call_id,
        sum(s.decode_ps) as decode_ps,
        sum_gpu_cost(s.decode_ps, p.price_per_gpu_hour) as cost,
        min(p.currency) as currency,
        max(p.currency) as last_currency
    from spent as s
    inner join pools as p on s.rate_id = p.rate_id
    group by s.group_number, s.time_number, s.caller, s.sentence_hash
),

grouped as (
    select
        group_number,
        time_number,
        caller,
        sentence_hash,
        max(sentence_tokens) as sentence_tokens,
        cast(sum(call_count) as bigint) as call_count,
        cast(sum(answer_count) as bigint) as answer_count,
        cast(sum(tokens) as bigint) as tokens,
        max(example_call_id) as example_call_id,
        cast(sum(decode_ps) as double) / 1e12 as decode_gpu_seconds,
        case when min(currency) = max(last_currency) then sum(cost) end as cost,
        case when min(currency) = max(last_currency) then min(currency) end as currency
    from parts
    group by group_number, time_number, caller, sentence_hash
)

select
    g.group_number,
    g.time_number,
    g.caller,
    g.sentence_hash,
    g.sentence_tokens,
    g.call_count,
    g.call_count * 1e0 / a.measured_count as call_ratio,
    g.answer_count,
    g.tokens,
    g.tokens * 1e0 / nullif(a.answer_tokens, 0) as output_ratio,
    g.decode_gpu_seconds,
    g.cost,
    g.currency,
    g.example_call_id
from grouped as g
inner join answered as a
    on
        g.group_number = a.group_number
        and g.time_number is not distinct from a.time_number
        and g.caller is not distinct from a.caller
order by
    g.group_number asc,
    g.time_number asc nulls last,
    g.caller asc nulls last,
    g.tokens desc,
    g.sentence_hash asc
