-- name: repeated_costs
-- question: What did groups of calls cost, and what those of them that an answer was there for?
-- grain: a group of the table repeated_calls, which names the calls of each and marks the repeated
-- unit: counts in calls; GPU-seconds, cost in currency, instants in nanoseconds since 1970
-- params: none
-- nulls: GPU-seconds are null where no call was charged, costs where none has a price or they are
--   in several currencies
-- identity: summed over all groups, call_count is the rows of repeated_calls
with spent as (
    select
        h.call_no,
        sum(picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds)) as gpu_ps,
        sum_gpu_cost(
            picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds),
            p.price_per_gpu_hour
        ) as gpu_cost,
        max(p.currency) as currency
    from charges as h
    inner join repeated_calls as m on h.call_no = m.call_no
    inner join pools as p on h.rate_id = p.rate_id
    group by h.call_no
),

paid as (
    select
        m.group_no,
        m.is_duplicate,
        s.gpu_ps,
        coalesce(s.gpu_cost, t.token_cost) as cost,
        coalesce(s.currency, t.currency) as currency
    from repeated_calls as m
    left join spent as s on m.call_no = s.call_no
    left join token_charges as t on m.call_no = t.call_no
),

grouped as (
    select
        group_no,
        count(*) as call_count,
        count(*) filter (where is_duplicate) as duplicate_count,
        cast(sum(gpu_ps) as double) / 1e12 as gpu_seconds,
        cast(sum(gpu_ps) filter (where is_duplicate) as double) / 1e12 as duplicate_gpu_seconds,
        sum(cost) as cost,
        sum(cost) filter (where is_duplicate) as duplicate_cost,
        min(currency) as currency,
        max(currency) as last_currency,
        count(*) filter (where is_duplicate and cost is null) as unpriced_count
    from paid
    group by group_no
)

select
    group_no,
    call_count,
    duplicate_count,
    gpu_seconds,
    duplicate_gpu_seconds,
    case when currency = last_currency then cost end as cost,
    case when currency = last_currency then duplicate_cost end as duplicate_cost,
    case when currency = last_currency then currency end as currency,
    unpriced_count
from grouped
order by duplicate_gpu_seconds desc nulls last, duplicate_count desc, group_no asc
