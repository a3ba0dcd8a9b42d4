-- name: output_format
-- question: How much of answers is keys and blanks of JSON, text around it, the question again?
-- grain: a group, a time and a caller, where asked for
-- unit: calls; tokens of the text that was measured; GPU-seconds of decode; cost in currency;
--   ratios from 0 to 1, those of parts of json_tokens
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count; $json_cohort_ids are the cohorts of
--   endpoints that answer in JSON, $most_preamble_tokens is the longest preamble that need not be
-- nulls: tokens are null where no answer of the group was measured, or none has such a part;
--   restated_tokens where no question was seen beside an answer in prose; GPU-seconds where no call
--   was charged; saved_cost where what output costs is not known or in several currencies
-- identity: preamble + key + value + syntax + blank + trailing tokens = json_tokens;
--   repeated_key_tokens <= key_tokens; saved_gpu_seconds <= decode_gpu_seconds

-- A token of an answer costs the share of the call's decode that it has in the visible output, as
-- measured or as reported, whichever is more: the telemetry may leave out a part of the text. What
-- need not be written: of endpoints that answer in JSON the trailing text, the blanks and short
-- preambles, and the restated question. A long preamble may be what the answer rests on.
-- An endpoint answers in JSON where half of its answers have some, and half of their tokens are.
-- Elsewhere text with JSON in it is an answer in JSON where half of its tokens are, and else prose.
-- The table output_costs has what the output of each call priced by the token costs, in billionths.
with json_cohorts as (
    select explode($json_cohort_ids) as cohort_id
),

judged as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.call_no,
        r.answer_shape,
        r.answer_tokens,
        r.answer_shape = 'json'
        or (
            r.answer_shape = 'json_in_text'
            and (
                j.cohort_id is not null
                or (r.preamble_tokens + r.trailing_tokens) * 2 <= r.answer_tokens
            )
        ) as is_json,
        j.cohort_id is not null as is_saved,
        r.json_key_tokens,
        r.json_repeated_key_tokens,
        r.json_value_tokens,
        r.json_syntax_tokens,
        r.json_blank_tokens,
        r.preamble_tokens,
        r.trailing_tokens,
        r.restated_tokens,
        case
            when r.answer_tokens > 0
                then
                    coalesce(r.visible_output_tokens * 1e0 / nullif(r.output_tokens, 0), 1e0)
                    / greatest(
                        r.answer_tokens, coalesce(r.visible_output_tokens, r.output_tokens, 0)
                    )
            else 0e0
        end as token_ratio
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    left join json_cohorts as j on r.cohort_id = j.cohort_id
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

measured as (
    select
        group_number,
        time_number,
        caller,
        call_no,
        answer_shape,
        answer_tokens,
        is_json,
        case when is_json then json_key_tokens end as json_key_tokens,
        case when is_json then json_repeated_key_tokens end as json_repeated_key_tokens,
        case when is_json then json_value_tokens end as json_value_tokens,
        case when is_json then json_syntax_tokens end as json_syntax_tokens,
        case when is_json then json_blank_tokens end as json_blank_tokens,
        case when is_json then preamble_tokens end as preamble_tokens,
        case when is_json then trailing_tokens end as trailing_tokens,
        restated_tokens,
        token_ratio,
        coalesce(restated_tokens, 0)
        + case
            when not is_saved or json_blank_tokens is null then 0
            else
                json_blank_tokens + trailing_tokens
                + case when preamble_tokens <= $most_preamble_tokens then preamble_tokens else 0 end
        end as saved_tokens
    from judged
),

charged as (
    select
        c.call_no,
        c.rate_id,
        sum(picoseconds(c.decode_gpu_seconds)) as decode_ps
    from charges as c
    inner join pairs($cohort_ids, $group_numbers) as g on c.cohort_id = g.key
    group by c.call_no, c.rate_id
),

spent as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        c.rate_id,
        sum(whole(c.decode_ps)) as decode_ps,
        sum(whole(floor(c.decode_ps * m.token_ratio * m.json_key_tokens))) as key_ps,
        sum(whole(floor(c.decode_ps * m.token_ratio * m.json_blank_tokens))) as blank_ps,
        sum(whole(floor(c.decode_ps * m.token_ratio * m.preamble_tokens))) as preamble_ps,
        sum(whole(floor(c.decode_ps * m.token_ratio * m.trailing_tokens))) as trailing_ps,
        sum(whole(floor(c.decode_ps * m.token_ratio * m.restated_tokens))) as restated_ps,
        sum(whole(coalesce(floor(c.decode_ps * least(m.token_ratio * m.saved_tokens, 1e0)), 0)))
            as saved_ps
    from measured as m
    inner join charged as c on m.call_no = c.call_no
    group by m.group_number, m.time_number, m.caller, c.rate_id
),

parts as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        count(*) as call_count,
        count(m.answer_shape) as measured_count,
        count(case when m.is_json then 1 end) as json_count,
        count(case when m.answer_shape = 'broken_json' then 1 end) as broken_json_count,
        count(case when m.answer_shape = 'label' then 1 end) as label_count,
        count(
            case
                when m.answer_shape = 'prose' then 1
                when m.answer_shape = 'json_in_text' and not m.is_json then 1
            end
        ) as prose_count,
        sum(m.answer_tokens) as answer_tokens,
        sum(case when m.is_json then m.answer_tokens end) as json_tokens,
        sum(m.json_key_tokens) as key_tokens,
        sum(m.json_repeated_key_tokens) as repeated_key_tokens,
        sum(m.json_value_tokens) as value_tokens,
        sum(m.json_syntax_tokens) as syntax_tokens,
        sum(m.json_blank_tokens) as blank_tokens,
        sum(m.preamble_tokens) as preamble_tokens,
        sum(m.trailing_tokens) as trailing_tokens,
        sum(m.restated_tokens) as restated_tokens,
        cast(null as hugeint) as decode_ps,
        cast(null as hugeint) as key_ps,
        cast(null as hugeint) as blank_ps,
        cast(null as hugeint) as preamble_ps,
        cast(null as hugeint) as trailing_ps,
        cast(null as hugeint) as restated_ps,
        cast(null as hugeint) as saved_ps,
        cast(
            sum(
                whole(coalesce(
                    floor(o.output_billionths * least(m.token_ratio * m.saved_tokens, 1e0)), 0
                ))
            ) * 0.000000001 as decimal(38, 9)
        ) as saved_cost,
        min(o.currency) as currency,
        max(o.currency) as last_currency
    from measured as m
    left join output_costs as o on m.call_no = o.call_no
    group by m.group_number, m.time_number, m.caller
    union all
    select
        s.group_number,
        s.time_number,
        s.caller,
        0 as call_count,
        0 as measured_count,
        0 as json_count,
        0 as broken_json_count,
        0 as label_count,
        0 as prose_count,
        null as answer_tokens,
        null as json_tokens,
        null as key_tokens,
        null as repeated_key_tokens,
        null as value_tokens,
        null as syntax_tokens,
        null as blank_tokens,
        null as preamble_tokens,
        null as trailing_tokens,
        null as restated_tokens,
        sum(s.decode_ps) as decode_ps,
        sum(s.key_ps) as key_ps,
        sum(s.blank_ps) as blank_ps,
        sum(s.preamble_ps) as preamble_ps,
        sum(s.trailing_ps) as trailing_ps,
        sum(s.restated_ps) as restated_ps,
        sum(s.saved_ps) as saved_ps,
        sum_gpu_cost(s.saved_ps, p.price_per_gpu_hour) as saved_cost,
        min(p.currency) as currency,
        max(p.currency) as last_currency
    from spent as s
    inner join pools as p on s.rate_id = p.rate_id
    group by s.group_number, s.time_number, s.caller
)

select
    group_number,
    time_number,
    caller,
    cast(sum(call_count) as bigint) as call_count,
    cast(sum(measured_count) as bigint) as measured_count,
    cast(sum(json_count) as bigint) as json_count,
    sum(json_count) * 1e0 / nullif(sum(measured_count), 0) as json_ratio,
    cast(sum(broken_json_count) as bigint) as broken_json_count,
    cast(sum(label_count) as bigint) as label_count,
    cast(sum(prose_count) as bigint) as prose_count,
    cast(sum(answer_tokens) as bigint) as answer_tokens,
    cast(sum(json_tokens) as bigint) as json_tokens,
    cast(sum(key_tokens) as bigint) as key_tokens,
    cast(sum(repeated_key_tokens) as bigint) as repeated_key_tokens,
    cast(sum(value_tokens) as bigint) as value_tokens,
    cast(sum(syntax_tokens) as bigint) as syntax_tokens,
    cast(sum(blank_tokens) as bigint) as blank_tokens,
    cast(sum(preamble_tokens) as bigint) as preamble_tokens,
    cast(sum(trailing_tokens) as bigint) as trailing_tokens,
    cast(sum(restated_tokens) as bigint) as restated_tokens,
    sum(key_tokens) * 1e0 / nullif(sum(json_tokens), 0) as key_ratio,
    sum(value_tokens) * 1e0 / nullif(sum(json_tokens), 0) as value_ratio,
    sum(blank_tokens) * 1e0 / nullif(sum(json_tokens), 0) as blank_ratio,
    cast(sum(decode_ps) as double) / 1e12 as decode_gpu_seconds,
    cast(sum(key_ps) as double) / 1e12 as key_gpu_seconds,
    cast(sum(blank_ps) as double) / 1e12 as blank_gpu_seconds,
    cast(sum(preamble_ps) as double) / 1e12 as preamble_gpu_seconds,
    cast(sum(trailing_ps) as double) / 1e12 as trailing_gpu_seconds,
    cast(sum(restated_ps) as double) / 1e12 as restated_gpu_seconds,
    case when sum(measured_count) > 0 then cast(sum(saved_ps) as double) / 1e12 end
        as saved_gpu_seconds,
    case
        when sum(measured_count) > 0 and min(currency) = max(last_currency) then sum(saved_cost)
    end as saved_cost,
    case when min(currency) = max(last_currency) then min(currency) end as currency
from parts
group by group_number, time_number, caller
order by group_number, time_number nulls last, caller nulls last
