-- name: bursts
-- question: Do calls arrive in bursts, and do those of a burst wait longer than others?
-- grain: a group, a time and a caller, where asked for
-- unit: calls; s; peak and dispersion are ratios
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: queue percentiles are null where no such call told its queue, every ratio where no call
--   told its arrival
-- identity: call_count + unknown_count = calls of the group, by their arrival or else their start;
--   burst_call_count <= call_count; a dispersion of 1 is that of arrivals that know nothing of each
--   other (Poisson)

-- Arrivals are looked at against the quarter-hour that they are in, so that a day's shape is no
-- burst. A second, or a minute, is a burst where its count exceeds m + 4 sqrt(m) + 2.5 with m its
-- quarter-hour's mean, which three in 100,000 do of a Poisson process (Cornish-Fisher). Near a
-- burst is the rest of its quarter-hour, where its queue may stand; calm are quarters without one.
with arrived as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        quarter_of(r.arrived_at) as quarter,
        cast(
            floor((r.arrived_at - cast(quarter_of(r.arrived_at) as bigint) * 900000000000) / 1e9)
            as integer
        ) as second,
        cast(
            floor((r.arrived_at - cast(quarter_of(r.arrived_at) as bigint) * 900000000000) / 6e10)
            as integer
        ) as minute,
        case when c.timing_quality = 'ok' then (r.started_at - r.arrived_at) / 1e9 end as queue_s
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.arrived_at, r.started_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.arrived_at, r.started_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.arrived_at, r.started_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

by_second as (
    select
        group_number,
        time_number,
        caller,
        quarter,
        minute,
        second,
        count(*) as call_count
    from arrived
    where quarter is not null
    group by group_number, time_number, caller, quarter, minute, second
),

by_minute as (
    select
        group_number,
        time_number,
        caller,
        quarter,
        minute,
        sum(call_count) as call_count,
        sum(call_count * call_count) as second_squares,
        max(call_count) as second_peak
    from by_second
    group by group_number, time_number, caller, quarter, minute
),

by_quarter as (
    select
        group_number,
        time_number,
        caller,
        quarter,
        sum(call_count) as call_count,
        sum(second_squares) as second_squares,
        sum(call_count * call_count) as minute_squares,
        max(second_peak) as second_peak,
        max(call_count) as minute_peak
    from by_minute
    group by group_number, time_number, caller, quarter
),

burst_seconds as (
    select
        s.group_number,
        s.time_number,
        s.caller,
        s.quarter,
        s.second
    from by_second as s
    inner join by_quarter as q
        on
            s.quarter = q.quarter
            and s.group_number = q.group_number
            and s.time_number is not distinct from q.time_number
            and s.caller is not distinct from q.caller
    where s.call_count > q.call_count / 9e2 + 4 * sqrt(q.call_count / 9e2) + 2.5
),

burst_minutes as (
    select
        m.group_number,
        m.time_number,
        m.caller,
        m.quarter,
        m.minute
    from by_minute as m
    inner join by_quarter as q
        on
            m.quarter = q.quarter
            and m.group_number = q.group_number
            and m.time_number is not distinct from q.time_number
            and m.caller is not distinct from q.caller
    where m.call_count > q.call_count / 15e0 + 4 * sqrt(q.call_count / 15e0) + 2.5
),

burst_quarters as (
    select
        group_number,
        time_number,
        caller,
        quarter
    from burst_seconds
    union
    select
        group_number,
        time_number,
        caller,
        quarter
    from burst_minutes
),

marked as (
    select
        a.group_number,
        a.time_number,
        a.caller,
        a.quarter,
        a.queue_s,
        s.second is not null or m.minute is not null as is_burst,
        q.quarter is not null as is_near
    from arrived as a
    left join burst_seconds as s
        on
            a.quarter = s.quarter
            and a.second = s.second
            and a.group_number = s.group_number
            and a.time_number is not distinct from s.time_number
            and a.caller is not distinct from s.caller
    left join burst_minutes as m
        on
            a.quarter = m.quarter
            and a.minute = m.minute
            and a.group_number = m.group_number
            and a.time_number is not distinct from m.time_number
            and a.caller is not distinct from m.caller
    left join burst_quarters as q
        on
            a.quarter = q.quarter
            and a.group_number = q.group_number
            and a.time_number is not distinct from q.time_number
            and a.caller is not distinct from q.caller
),

shapes as (
    select
        group_number,
        time_number,
        caller,
        max(second_peak) as second_peak_count,
        max(minute_peak) as minute_peak_count,
        max(second_peak) / (sum(call_count) / (count(*) * 9e2)) as second_peak_ratio,
        max(minute_peak) / (sum(call_count) / (count(*) * 15e0)) as minute_peak_ratio,
        sum(second_squares - call_count * call_count / 9e2) / 899e0 / sum(call_count / 9e2)
            as second_dispersion,
        sum(minute_squares - call_count * call_count / 15e0) / 14e0 / sum(call_count / 15e0)
            as minute_dispersion
    from by_quarter
    group by group_number, time_number, caller
),

waits as (
    select
        group_number,
        time_number,
        caller,
        count(quarter) as call_count,
        count(*) - count(quarter) as unknown_count,
        count(case when is_burst then 1 end) as burst_call_count,
        count(case when quarter is not null and queue_s is null then 1 end) as unknown_queue_count,
        percentile(case when is_burst then queue_s end, 0.99) as burst_queue_p99_s,
        percentile(case when is_near and not is_burst then queue_s end, 0.99) as near_queue_p99_s,
        percentile(case when not is_near then queue_s end, 0.99) as calm_queue_p99_s
    from marked
    group by group_number, time_number, caller
)

select
    w.group_number,
    w.time_number,
    w.caller,
    w.call_count,
    w.unknown_count,
    cast(s.second_peak_count as bigint) as second_peak_count,
    s.second_peak_ratio,
    s.second_dispersion,
    cast(s.minute_peak_count as bigint) as minute_peak_count,
    s.minute_peak_ratio,
    s.minute_dispersion,
    w.burst_call_count,
    w.burst_call_count * 1e0 / nullif(w.call_count, 0) as burst_ratio,
    w.unknown_queue_count,
    w.burst_queue_p99_s,
    w.near_queue_p99_s,
    w.calm_queue_p99_s
from waits as w
left join shapes as s
    on
        w.group_number = s.group_number
        and w.time_number is not distinct from s.time_number
        and w.caller is not distinct from s.caller
order by w.group_number, w.time_number nulls last, w.caller nulls last
