-- name: batch_lane
-- question: Who waits for an answer, when are calls sent, and how much GPU time do they take?
-- grain: a group, a time and a caller, where asked for, who waits, and a quarter-hour
-- unit: calls; GPU-seconds as whole picoseconds; quarter-hours since 1970 in which service begins
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $routed is 1 for each selected cohort whose
--   endpoint is a route of the application, else 0; $server_names are names of the spans of model
--   servers; $caller is 'user_id', 'conversation_id' or null; $since and $until in nanoseconds or
--   null; $any_user and $any_conversation are false where only the calls of $user_id,
--   $conversation_id count
-- nulls: quarter where no time is told; gpu_ps where no call was charged
-- identity: summed over all rows, call_count is the calls that began service in the window

-- Somebody waits for a call below the span of a request to the application, for one that streams,
-- and for one of a conversation. Nobody is seen to wait below the root of a job, which is no
-- server's span. Where the root is the call itself or a model server's, nothing is told.
with roots as (
    select
        trace_id,
        min_by(span_id, (started_at, span_id)) as span_id,
        min_by(kind, (started_at, span_id)) as kind,
        min_by(name, (started_at, span_id)) as name
    from spans
    where parent_span_id is null
    group by trace_id
),

sent as (
    select
        r.call_no,
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) as quarter,
        case
            when h.value = 1 or r.stream or r.conversation_id is not null then 'waited'
            when p.trace_id is null or p.span_id = r.span_id then 'untold'
            when is_among(p.name, $server_names) then 'untold'
            when p.kind = 'server' then 'waited'
            else 'background'
        end as who
    from call_rows as r
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    inner join pairs($cohort_ids, $routed) as h on r.cohort_id = h.key
    left join roots as p on r.trace_id = p.trace_id
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

counted as (
    select
        group_number,
        time_number,
        caller,
        who,
        quarter,
        count(*) as call_count,
        null as gpu_ps
    from sent
    group by group_number, time_number, caller, who, quarter
    union all
    select
        s.group_number,
        s.time_number,
        s.caller,
        s.who,
        s.quarter,
        0 as call_count,
        sum(picoseconds(h.prefill_gpu_seconds) + picoseconds(h.decode_gpu_seconds)) as gpu_ps
    from charges as h
    inner join sent as s on h.call_no = s.call_no
    group by s.group_number, s.time_number, s.caller, s.who, s.quarter
)

select
    group_number,
    time_number,
    caller,
    who,
    quarter,
    cast(sum(call_count) as bigint) as call_count,
    cast(sum(gpu_ps) as decimal(38, 0)) as gpu_ps
from counted
group by group_number, time_number, caller, who, quarter
order by
    group_number, time_number nulls last, caller nulls last, who, quarter nulls last
