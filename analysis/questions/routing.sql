-- name: routing
-- question: Which model does simple work, and what would it cost on the cheapest other model?
-- grain: a group with its model, a time and a caller, where asked for
-- unit: calls; tokens; GPU-seconds; cost in currency; ratios from 0 to 1
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: distinct_ratio where no answer's hash is told; GPU-seconds and cost where no simple call
--   has a charge, cost also where they are in several currencies; other_model and what follows from
--   it where the work is not simple, or no other model has a lower price in that currency
-- identity: simple_count <= call_count = calls that began service in the window; saved_cost =
--   simple_cost - other_cost

-- The table simple_work has the simple calls. What else the answer has is computed from the prices
-- of the models of the ledger.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        r.call_no,
        r.answer_shape,
        case when r.output_hash is not null then key_of(r.output_hash) end as output_key,
        length_of(r.input_tokens, r.input_tokens, r.output_tokens) as input_tokens,
        length_of(r.output_tokens, r.input_tokens, r.output_tokens) as output_tokens,
        w.call_no is not null as is_simple
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    left join simple_work as w on r.call_no = w.call_no
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

charged as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        c.rate_id,
        sum(picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds)) as gpu_ps
    from charges as c
    inner join measured as m on c.call_no = m.call_no
    where m.is_simple
    group by m.group_number, m.time_number, m.caller, c.rate_id
),

parts as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        count(*) as call_count,
        count(m.answer_shape) as measured_count,
        count(case when m.answer_shape = 'label' then 1 end) as label_count,
        count(case when m.answer_shape = 'json' then 1 end) as json_count,
        count(case when m.is_simple then 1 end) as simple_count,
        count(m.output_key) as told_count,
        count(distinct m.output_key) as distinct_count,
        percentile(m.input_tokens, 0.5) as input_p50_tokens,
        percentile(m.output_tokens, 0.5) as output_p50_tokens,
        sum(case when m.is_simple then m.input_tokens end) as simple_input_tokens,
        sum(case when m.is_simple then m.output_tokens end) as simple_output_tokens,
        cast(null as hugeint) as gpu_ps,
        sum(case when m.is_simple then p.token_cost end) as cost,
        min(case when m.is_simple then p.currency end) as currency,
        max(case when m.is_simple then p.currency end) as last_currency
    from measured as m
    left join token_charges as p on m.call_no = p.call_no
    group by m.group_number, m.time_number, m.caller
    union all
    select
        c.group_number,
        c.time_number,
        c.caller,
        0 as call_count,
        0 as measured_count,
        0 as label_count,
        0 as json_count,
        0 as simple_count,
        0 as told_count,
        0 as distinct_count,
        null as input_p50_tokens,
        null as output_p50_tokens,
        null as simple_input_tokens,
        null as simple_output_tokens,
        sum(whole(c.gpu_ps)) as gpu_ps,
        sum_gpu_cost(c.gpu_ps, p.price_per_gpu_hour) as cost,
        min(p.currency) as currency,
        max(p.currency) as last_currency
    from charged as c
    inner join pools as p on c.rate_id = p.rate_id
    group by c.group_number, c.time_number, c.caller
)

select
    group_number,
    time_number,
    caller,
    cast(sum(call_count) as bigint) as call_count,
    cast(sum(measured_count) as bigint) as measured_count,
    cast(sum(label_count) as bigint) as label_count,
    cast(sum(json_count) as bigint) as json_count,
    cast(sum(simple_count) as bigint) as simple_count,
    sum(simple_count) * 1e0 / nullif(sum(call_count), 0) as simple_ratio,
    sum(distinct_count) * 1e0 / nullif(sum(told_count), 0) as distinct_ratio,
    max(input_p50_tokens) as input_p50_tokens,
    max(output_p50_tokens) as output_p50_tokens,
    cast(sum(simple_input_tokens) as bigint) as simple_input_tokens,
    cast(sum(simple_output_tokens) as bigint) as simple_output_tokens,
    cast(sum(gpu_ps) as double) / 1e12 as simple_gpu_seconds,
    case when min(currency) = max(last_currency) then cast(sum(cost) as decimal(38, 9)) end
        as simple_cost,
    case when min(currency) = max(last_currency) then min(currency) end as currency
from parts
group by group_number, time_number, caller
order by group_number, time_number nulls last, caller nulls last
