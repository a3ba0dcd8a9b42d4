-- name: traces
-- question: Which traces had calls, how long did each take from end to end, and what did it cost?
-- grain: one trace with a call that begins service in the window
-- unit: duration_s and gpu_seconds in s, cost in currency, instants in nanoseconds since 1970;
--   fitting_count counts the traces that fit, also beyond $most_rows
-- params: $cohort_ids are the cohorts selected; $since and $until in nanoseconds or null;
--   $any_user and $any_conversation are false where only the calls of $user_id,
--   $conversation_id count; $trace_prefix is how a trace's id begins, or null; $least_cost and
--   $least_duration_s are lower bounds, or null; $ranked_by is a column to sort by, the largest
--   first, or 'started_at', the latest first; $most_rows rows at most
-- nulls: cost is null where no call has a price or prices differ in currency; duration_s is null
--   where no call tells both its begin and its end
-- identity: summed over all traces, gpu_seconds is that of the calls that belong to a trace

-- Pieces of calls are added up in whole picoseconds and billionths of a price, so that the order in
-- which they were stored changes no bit. Of calls that begin at once, the first by call_id.
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

selected as (
    select
        r.call_no,
        r.call_id,
        r.trace_id,
        c.endpoint,
        c.team,
        c.status,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at
    from call_rows as r
    inner join cohort_choice as h on r.cohort_id = h.cohort_id
    inner join cohorts as c on r.cohort_id = c.cohort_id
    where
        r.trace_id is not null
        and ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
        and ($trace_prefix is null or substr(r.trace_id, 1, length($trace_prefix)) = $trace_prefix)
),

spent as (
    select
        c.call_no,
        sum(picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds)) as gpu_ps,
        sum(
            whole(picoseconds(c.prefill_gpu_seconds) + picoseconds(c.decode_gpu_seconds))
            * whole(cast(p.price_per_gpu_hour as decimal(38, 9)) * 1000000000)
        ) as price_ps,
        cast(null as decimal(38, 9)) as token_cost,
        max(p.currency) as currency
    from charges as c
    inner join selected as s on c.call_no = s.call_no
    inner join pools as p on c.rate_id = p.rate_id
    group by c.call_no
    union all
    select
        t.call_no,
        null as gpu_ps,
        null as price_ps,
        t.token_cost,
        t.currency
    from token_charges as t
    inner join selected as s on t.call_no = s.call_no
),

by_trace as (
    select
        s.trace_id,
        min_by(s.endpoint, (s.begun_at, s.call_id)) as endpoint,
        min_by(s.team, (s.begun_at, s.call_id)) as team,
        count(*) as call_count,
        sum(case when s.status <> 'ok' then 1 else 0 end) as failed_count,
        min(s.begun_at) as started_at,
        (max(s.ended_at) - min(s.begun_at)) / 1e9 as duration_s,
        cast(sum(p.gpu_ps) as double) / 1e12 as gpu_seconds,
        case
            when count(distinct p.currency) = 1
                then
                    coalesce(cast(sum(p.price_ps) as double) / 3.6e24, 0.0)
                    + coalesce(cast(sum(p.token_cost) as double), 0.0)
        end as cost,
        case when count(distinct p.currency) = 1 then max(p.currency) end as currency
    from selected as s
    left join spent as p on s.call_no = p.call_no
    group by s.trace_id
)

select
    trace_id,
    endpoint,
    team,
    call_count,
    cast(failed_count as bigint) as failed_count,
    started_at,
    duration_s,
    gpu_seconds,
    cast(cost as decimal(38, 9)) as cost,
    currency,
    count(*) over () as fitting_count
from by_trace
where
    ($least_cost is null or cost >= $least_cost)
    and ($least_duration_s is null or duration_s >= $least_duration_s)
order by
    case $ranked_by
        when 'cost' then cost
        when 'gpu_seconds' then gpu_seconds
        when 'duration_s' then duration_s
        when 'call_count' then cast(call_count as double)
        when 'started_at' then cast(started_at as double)
    end desc nulls last,
    trace_id asc
limit $most_rows
