-- name: interference
-- question: Do calls decode slower while other calls of their replica are in prefill?
-- grain: a call on a replica, in a stretch
-- unit: instants in nanoseconds since 1970; tokens of a choice after its first
-- params: $cohort_ids and $pool_numbers say which pool each selected cohort is in, $silent_days
--   on which days some call of a pool names no replica (pool number * 1,000,000 + days since
--   1970), $lane_keys and $lane_numbers which lane is meant by "pool number/replica"; $since and
--   $until bound the stretch in nanoseconds
-- nulls: decode_tokens is null where the pace of a call was not observed: no first token that an
--   engine or a stream tells, fewer than two tokens, or tokens not told
-- identity: measured_count + unmeasured_count = calls whose decode begins in the window; a call
--   with an even pace, whoever is beside it, adds nothing to slower_ratio

-- timed_calls are the calls as they are charged: a call in prefill is beside others whether its
-- phases were observed or estimated. What was observed prunes the scan.
with near_stretch as (
    select *
    from timed_calls
    where observed_started_at < $until and observed_ended_at >= $since
    union all
    select *
    from timed_calls
    where
        observed_started_at is null
        and observed_arrived_at < $until
        and observed_ended_at >= $since
    union all
    select *
    from timed_calls
    where observed_ended_at is null and started_at < $until and ended_at >= $since
),

silent_days as (
    select explode($silent_days) as day_key
),

placed as (
    select
        concat(
            cast(p.value as varchar),
            '/',
            case when d.day_key is null then coalesce(t.replica, '') else '' end
        ) as lane_key,
        t.started_at,
        t.first_token_at,
        t.ended_at,
        case
            when
                c.timing_source in ('engine', 'stream')
                and t.observed_first_token_at is not null
                and t.observed_ended_at > t.observed_first_token_at
                and t.output_tokens > t.choices
                then t.output_tokens * 1e0 / t.choices - 1
        end as decode_tokens,
        coalesce(t.input_tokens, 0) + coalesce(t.output_tokens, 0) / 2e0 as context_tokens
    from near_stretch as t
    inner join cohorts as c on t.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $pool_numbers) as p on t.cohort_id = p.key
    left join silent_days as d
        on
            p.value * 1000000 + cast(floor(quarter_of(t.started_at) / 96e0) as integer)
            = d.day_key
)

select
    l.value as lane_number,
    p.started_at,
    p.first_token_at,
    p.ended_at,
    p.decode_tokens,
    p.context_tokens
from placed as p
inner join pairs($lane_keys, $lane_numbers) as l on p.lane_key = l.key
order by l.value
