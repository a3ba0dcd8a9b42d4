-- name: latency
-- question: How long do calls queue, until the first token, for each further token, and in all?
-- grain: a group, a time and a caller, where asked for, and one of queue, prefill, ttft, tpot, e2e
-- unit: s; tpot in s per token of a choice after its first
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $caller is 'user_id', 'conversation_id' or
--   null; $since and $until in nanoseconds or null; $any_user and $any_conversation are false
--   where only the calls of $user_id, $conversation_id count
-- nulls: a percentile is null where no call of the group was measured
-- identity: known_count + unknown_count = calls that began service in the window; p50 <= p95 <= p99

-- Only what was observed: a phase that is estimated for charging is no latency. Queue and prefill
-- add up to TTFT. TPOT is decode / (output tokens - 1); of a call that decodes several choices side
-- by side, with the output tokens of a choice: their mean. A choice of one token has none and is
-- not counted there.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        case when c.timing_quality = 'ok' then r.arrived_at end as arrived_at,
        case when c.timing_quality = 'ok' then r.started_at end as started_at,
        case when c.timing_quality = 'ok' then r.first_token_at end as first_token_at,
        case when c.timing_quality = 'ok' then r.ended_at end as ended_at,
        r.output_tokens,
        greatest(coalesce(r.n_choices, 1), 1) as choices
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

latencies as (
    select
        group_number,
        time_number,
        caller,
        'queue' as measure,
        (started_at - arrived_at) / 1e9 as seconds
    from measured
    union all
    select
        group_number,
        time_number,
        caller,
        'prefill' as measure,
        (first_token_at - started_at) / 1e9 as seconds
    from measured
    union all
    select
        group_number,
        time_number,
        caller,
        'ttft' as measure,
        (first_token_at - arrived_at) / 1e9 as seconds
    from measured
    union all
    select
        group_number,
        time_number,
        caller,
        'tpot' as measure,
        (ended_at - first_token_at) / 1e9 / (output_tokens * 1e0 / choices - 1) as seconds
    from measured
    where output_tokens > choices or output_tokens is null
    union all
    select
        group_number,
        time_number,
        caller,
        'e2e' as measure,
        (ended_at - arrived_at) / 1e9 as seconds
    from measured
)

select
    group_number,
    time_number,
    caller,
    measure,
    percentile(seconds, 0.5) as p50_s,
    percentile(seconds, 0.95) as p95_s,
    percentile(seconds, 0.99) as p99_s,
    count(seconds) as known_count,
    count(*) - count(seconds) as unknown_count
from latencies
group by group_number, time_number, caller, measure
order by group_number, time_number nulls last, caller nulls last, measure
