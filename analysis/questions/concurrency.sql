-- name: concurrency
-- question: How many calls are in service at once, how much KV memory do they hold, who waits?
-- grain: a call on a lane (a replica, or its pool on days on which some call names none)
-- unit: instants in nanoseconds since 1970; tokens
-- params: $cohort_ids and $pool_numbers say which pool each selected cohort is in, $silent_days
--   on which days some call of a pool names no replica (pool number * 1,000,000 + days since
--   1970), $lane_keys and $lane_numbers which lane is meant by "pool number/replica"; $since and
--   $until bound the stretch in nanoseconds
-- nulls: waits_at is null where the queue of the call was not observed; tokens where not told
-- identity: mean concurrency = sum(residence) / busy time = B of the law times GPUs per replica;
--   queued_free_s + queued_growing_s + queued_full_s = queued_s where the KV memory is known

-- timed_calls are the calls as they are charged, with their estimates. What was observed prunes
-- the scan; the last branch is for calls that are laid out.
with near_stretch as (
    select *
    from timed_calls
    where observed_arrived_at < $until and observed_ended_at >= $since
    union all
    select *
    from timed_calls
    where
        observed_arrived_at is null
        and observed_started_at < $until
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
        case
            when t.observed_started_at is not null
                then least(t.observed_arrived_at, t.observed_started_at)
        end as waits_at,
        t.started_at,
        t.first_token_at,
        t.ended_at,
        t.input_tokens,
        t.output_tokens
    from near_stretch as t
    inner join pairs($cohort_ids, $pool_numbers) as p on t.cohort_id = p.key
    left join silent_days as d
        on
            p.value * 1000000 + cast(floor(quarter_of(t.started_at) / 96e0) as integer)
            = d.day_key
)

select
    l.value as lane_number,
    p.waits_at,
    p.started_at,
    p.first_token_at,
    p.ended_at,
    p.input_tokens,
    p.output_tokens
from placed as p
inner join pairs($lane_keys, $lane_numbers) as l on p.lane_key = l.key
order by l.value
