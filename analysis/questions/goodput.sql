-- name: goodput
-- question: How many of the calls sent met every limit that was promised for their endpoint?
-- grain: a group, a time and a caller, where asked for, of the calls with a promise
-- unit: calls; tokens; limits in s, tpot in s per token of a choice after its first
-- params: $cohort_ids and $group_numbers say which group each selected cohort is in, $quarters and
--   $time_numbers which time each quarter-hour is in; $ttft_limits, $tpot_limits and $e2e_limits
--   are the promises of each selected cohort in s, or null; $caller is 'user_id',
--   'conversation_id' or null; $since and $until in nanoseconds or null; $any_user and
--   $any_conversation are false where only the calls of $user_id, $conversation_id count
-- nulls: a limit is null where none is promised or the calls of a group have several; met_tokens
--   counts what is known and is null where no call met its limits, or none that did
--   tells its output tokens
-- identity: met_count + missed_count + unknown_count + error_count + timeout_count +
--   cancelled_count + refused_count = sent_count, the calls that began service in the window

-- A call met its promise if it was answered and no latency that is promised is beyond its limit.
-- It missed it if one is beyond, whatever is not told of the others; else, where one is not told,
-- the outcome is unknown. An answer of one token a choice has no TPOT, and no limit on it. What is
-- judged of one latency is of the answered calls that have it or may have it.
with measured as (
    select
        g.value as group_number,
        t.value as time_number,
        case $caller
            when 'user_id' then r.user_id
            when 'conversation_id' then r.conversation_id
        end as caller,
        case
            when c.status = 'ok' then 'ok'
            when r.http_status = 429 then 'refused'
            when c.status in ('timeout', 'cancelled') then c.status
            else 'error'
        end as status,
        cast(a.value as double) as ttft_limit_s,
        cast(b.value as double) as tpot_limit_s,
        cast(d.value as double) as e2e_limit_s,
        case when c.timing_quality = 'ok' then (r.first_token_at - r.arrived_at) / 1e9 end
            as ttft_s,
        case
            when c.timing_quality = 'ok' and r.output_tokens > greatest(coalesce(r.n_choices, 1), 1)
                then
                    (r.ended_at - r.first_token_at) / 1e9
                    / (r.output_tokens * 1e0 / greatest(coalesce(r.n_choices, 1), 1) - 1)
        end as tpot_s,
        case when c.timing_quality = 'ok' then (r.ended_at - r.arrived_at) / 1e9 end as e2e_s,
        coalesce(r.output_tokens <= greatest(coalesce(r.n_choices, 1), 1), false) as is_short,
        r.output_tokens
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $group_numbers) as g on r.cohort_id = g.key
    inner join pairs($cohort_ids, $ttft_limits) as a on r.cohort_id = a.key
    inner join pairs($cohort_ids, $tpot_limits) as b on r.cohort_id = b.key
    inner join pairs($cohort_ids, $e2e_limits) as d on r.cohort_id = d.key
    left join pairs($quarters, $time_numbers) as t
        on quarter_of(coalesce(r.started_at, r.arrived_at, r.ended_at)) = t.key
    where
        ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
        and ($any_user or r.user_id is not distinct from $user_id)
        and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
),

judged as (
    select
        *,
        case when status = 'ok' then ttft_limit_s is null or ttft_s <= ttft_limit_s end
            as is_ttft_met,
        case when status = 'ok' then tpot_limit_s is null or is_short or tpot_s <= tpot_limit_s end
            as is_tpot_met,
        case when status = 'ok' then e2e_limit_s is null or e2e_s <= e2e_limit_s end
            as is_e2e_met
    from measured
),

outcomes as (
    select
        *,
        case
            when status <> 'ok' then status
            when not (is_ttft_met and is_tpot_met and is_e2e_met) then 'missed'
            when is_ttft_met and is_tpot_met and is_e2e_met then 'met'
            else 'unknown'
        end as outcome
    from judged
)

select
    group_number,
    time_number,
    caller,
    count(*) as sent_count,
    count(case when outcome = 'met' then 1 end) as met_count,
    count(case when outcome = 'missed' then 1 end) as missed_count,
    count(case when outcome = 'unknown' then 1 end) as unknown_count,
    count(case when outcome = 'error' then 1 end) as error_count,
    count(case when outcome = 'timeout' then 1 end) as timeout_count,
    count(case when outcome = 'cancelled' then 1 end) as cancelled_count,
    count(case when outcome = 'refused' then 1 end) as refused_count,
    cast(sum(case when outcome = 'met' then output_tokens end) as bigint) as met_tokens,
    case when min(ttft_limit_s) = max(ttft_limit_s) then min(ttft_limit_s) end as ttft_limit_s,
    count(case when status = 'ok' and ttft_limit_s is not null then 1 end) as ttft_count,
    count(case when ttft_limit_s is not null and is_ttft_met then 1 end) as ttft_within_count,
    count(case when ttft_limit_s is not null and not is_ttft_met then 1 end)
        as ttft_beyond_count,
    case when min(tpot_limit_s) = max(tpot_limit_s) then min(tpot_limit_s) end as tpot_limit_s,
    count(case when status = 'ok' and tpot_limit_s is not null and not is_short then 1 end)
        as tpot_count,
    count(case when tpot_limit_s is not null and not is_short and is_tpot_met then 1 end)
        as tpot_within_count,
    count(case when tpot_limit_s is not null and not is_tpot_met then 1 end)
        as tpot_beyond_count,
    case when min(e2e_limit_s) = max(e2e_limit_s) then min(e2e_limit_s) end as e2e_limit_s,
    count(case when status = 'ok' and e2e_limit_s is not null then 1 end) as e2e_count,
    count(case when e2e_limit_s is not null and is_e2e_met then 1 end) as e2e_within_count,
    count(case when e2e_limit_s is not null and not is_e2e_met then 1 end) as e2e_beyond_count
from outcomes
group by group_number, time_number, caller
order by group_number, time_number nulls last, caller nulls last
