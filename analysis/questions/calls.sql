-- name: calls
-- question: Which calls were there, how long did each take, and what did it cost?
-- grain: one call
-- unit: durations in s, GPU-seconds, cost in currency, instants in nanoseconds since 1970
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds or null;
--   $any_user and $any_conversation are false where only the calls of $user_id,
--   $conversation_id count; $trace_id is null, or the trace that alone counts; $any_call is false
--   where only $call_ids count; $ranked_by is a column to sort by, the largest first,
--   'started_at', the earliest first, or 'unpriced', those without a price first; $most_rows rows
--   at most
-- nulls: list_cost is null but for calls that a plan pays, avoided_cost but for answers out of a
--   gateway's cache; both are what the call would cost by the token;
--   an instant outside of the years 1823 to 2116 is null where it is shown;
--   a duration is null where it was not observed nor charged, cost where no price is known;
--   where cost_status is 'partly priced' cost is that of the part that has a price, and
--   unpriced_reason tells the part that has none
-- identity: gpu_seconds = prefill_gpu_seconds + decode_gpu_seconds; summed over all calls it is
--   the busy time of law

-- Pieces of a call are added up in whole picoseconds and billionths of a price: the same bits
-- whatever the order in which they were stored. Calls that rank alike go by call_id.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

call_choice as (
    select explode($call_ids) as call_id
),

selected as (
    select
        r.call_no,
        r.call_id,
        r.cohort_id,
        coalesce(r.started_at, r.arrived_at, r.ended_at) as served_at,
        r.input_tokens,
        r.output_tokens,
        (r.ended_at - r.arrived_at) / 1e9 as e2e_s
    from call_rows as r
    inner join cohort_choice as c on r.cohort_id = c.cohort_id
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
        and ($trace_id is null or r.trace_id = $trace_id)
        and ($any_call or r.call_id in (select h.call_id from call_choice as h))
),

ranking as (
    select
        c.call_no,
        sum(picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds)) as gpu_seconds,
        cast(
            sum(
                whole(picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds))
                * whole(cast(p.price_per_gpu_hour as decimal(38, 9)) * 1000000000)
            ) as double
        ) / 3.6e24 as cost,
        count(p.price_per_gpu_hour) < count(*) as is_unpriced
    from charges as c
    inner join pools as p on c.rate_id = p.rate_id
    where $ranked_by in ('gpu_seconds', 'cost', 'unpriced')
    group by c.call_no
    union all
    select
        t.call_no,
        null as gpu_seconds,
        cast(t.token_cost as double) as cost,
        false as is_unpriced
    from token_charges as t
    where $ranked_by in ('cost', 'unpriced')
),

chosen as (
    select s.call_no
    from selected as s
    left join ranking as r on s.call_no = r.call_no
    order by
        case $ranked_by
            when 'gpu_seconds' then r.gpu_seconds
            when 'cost' then r.cost
            when 'unpriced'
                then
                    case when r.cost is null then 2.0 when r.is_unpriced then 1.0 else 0.0 end
            when 'e2e_s' then s.e2e_s
            when 'input_tokens' then cast(s.input_tokens as double)
            when 'output_tokens' then cast(s.output_tokens as double)
        end desc nulls last,
        s.served_at asc nulls last,
        s.call_id asc
    limit $most_rows
),

spent as (
    select
        c.call_no,
        cast(sum_picoseconds(c.prefill_s) as double) / 1e12 as prefill_s,
        cast(sum_picoseconds(c.decode_s) as double) / 1e12 as decode_s,
        cast(sum_picoseconds(c.prefill_gpu_seconds) as double) / 1e12 as prefill_gpu_seconds,
        cast(sum_picoseconds(c.decode_gpu_seconds) as double) / 1e12 as decode_gpu_seconds,
        cast(
            sum_picoseconds(c.prefill_gpu_seconds) + sum_picoseconds(c.decode_gpu_seconds)
            as double
        ) / 1e12 as gpu_seconds,
        sum_gpu_cost(
            picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds),
            p.price_per_gpu_hour
        ) as gpu_cost,
        max(p.currency) as currency,
        sum(
            case
                when p.price_per_gpu_hour is null
                    then picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds)
            end
        ) / 1e12 as unpriced_gpu_seconds
    from charges as c
    inner join chosen as h on c.call_no = h.call_no
    inner join pools as p on c.rate_id = p.rate_id
    group by c.call_no
)

select
    r.call_id,
    r.trace_id,
    r.span_id,
    r.conversation_id,
    r.user_id,
    r.endpoint,
    r.team,
    r.service,
    r.model,
    r.pool,
    r.replica,
    r.status,
    r.http_status,
    r.arrived_at,
    r.started_at,
    r.first_token_at,
    r.ended_at,
    r.uncached_input_tokens,
    r.cache_read_tokens,
    r.cache_write_tokens,
    r.visible_output_tokens,
    r.reasoning_tokens,
    r.input_tokens,
    r.output_tokens,
    case when r.timing_quality = 'ok' then (r.started_at - r.arrived_at) / 1e9 end as queue_s,
    case
        when s.call_no is not null then s.prefill_s
        when r.timing_quality = 'ok' then (r.first_token_at - r.started_at) / 1e9
    end as prefill_s,
    case
        when s.call_no is not null then s.decode_s
        when r.timing_quality = 'ok' then (r.ended_at - r.first_token_at) / 1e9
    end as decode_s,
    case when r.timing_quality = 'ok' then (r.ended_at - r.arrived_at) / 1e9 end as e2e_s,
    s.gpu_seconds,
    s.prefill_gpu_seconds,
    s.decode_gpu_seconds,
    case
        when t.plan is not null then 'plan'
        when t.call_no is not null then 'token'
        when s.call_no is not null then 'gpu'
        else 'unpriced'
    end as basis,
    coalesce(s.gpu_cost, t.token_cost) as cost,
    coalesce(s.currency, t.currency) as currency,
    case when t.price_source = 'plan' then t.listed_cost end as list_cost,
    case when t.price_source = 'cache' then t.listed_cost end as avoided_cost,
    case
        when coalesce(s.gpu_cost, t.token_cost) is null then 'unpriced'
        when s.unpriced_gpu_seconds is not null then 'partly priced'
        else 'priced'
    end as cost_status,
    case
        when s.gpu_cost is not null and s.unpriced_gpu_seconds is not null
            then
                'the pool has no price for ' || cast(round(s.unpriced_gpu_seconds, 6) as varchar)
                || ' of its GPU-seconds'
        when coalesce(s.gpu_cost, t.token_cost) is not null then null
        when s.call_no is not null then 'the pool has no price'
        when
            r.pool is not null
            and is_beyond(r.arrived_at, r.started_at, r.first_token_at, r.ended_at)
            then 'its times lie outside of the years 1823 to 2116'
        when r.pool is not null and r.timing_quality = 'invalid'
            then 'its times contradict each other'
        when coalesce(r.started_at, r.arrived_at, r.ended_at) is null
            then 'its times are not known'
        when r.input_tokens is null then 'its input tokens are not known'
        when r.output_tokens is null and r.operation <> 'embeddings'
            then 'its output tokens are not known'
        when r.pool is not null then 'its times are not known'
        else 'neither a pool nor a price by the token is known for its model'
    end as unpriced_reason,
    r.timing_source,
    r.timing_quality,
    r.tokens_source,
    r.is_cache_hit
from calls as r
inner join chosen as h on r.call_no = h.call_no
left join spent as s on r.call_no = s.call_no
left join token_charges as t on r.call_no = t.call_no
order by
    case $ranked_by
        when 'gpu_seconds' then s.gpu_seconds
        when 'cost' then cast(coalesce(s.gpu_cost, t.token_cost) as double)
        when 'unpriced'
            then
                case
                    when coalesce(s.gpu_cost, t.token_cost) is null then 2.0
                    when s.unpriced_gpu_seconds is not null then 1.0
                    else 0.0
                end
        when 'e2e_s' then (r.ended_at - r.arrived_at) / 1e9
        when 'input_tokens' then cast(r.input_tokens as double)
        when 'output_tokens' then cast(r.output_tokens as double)
    end desc nulls last,
    coalesce(r.started_at, r.arrived_at, r.ended_at) asc nulls last,
    r.call_id asc
