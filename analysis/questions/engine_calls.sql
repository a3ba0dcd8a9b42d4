-- name: engine_calls
-- question: How many calls were in service while the engine said how many it ran?
-- grain: a unit (a replica, or a pool whose calls name no replica) and a quarter-hour
-- unit: residence_s in calls times s; busy_s and covered_s in s of replicas
-- params: $series_ids and $place_numbers say which series of running calls are of which place,
--   $silent_ids, $silent_since and $silent_until of which a stretch is not read,
--   $places and $place_units which place is in which unit; $cohort_ids and $cohort_pools which
--   calls are of which pool, $by_replica the pools whose calls all name their replica, $unit_keys
--   and $unit_numbers which unit is meant by "pool/replica"; $since and $until in nanoseconds or
--   null; $longest_step_ns is how long a gauge is taken for what it was
-- nulls: none
-- identity: residence_s / busy_s is B of these calls per replica, over the stretches in which the
--   engine's own count is known
with stretches as (
    select distinct
        p.value as place_number,
        greatest(t.since, coalesce($since, t.since)) as since,
        least(t.until, coalesce($until, t.until)) as until
    from engine_steps as t
    inner join pairs($series_ids, $place_numbers) as p on t.series_id = p.key
    left join pairs($silent_ids, $silent_since) as a on t.series_id = a.key
    left join pairs($silent_ids, $silent_until) as b on t.series_id = b.key
    where
        t.level is not null
        and (a.key is null or t.until <= a.value or t.since >= b.value)
        and is_among(t.series_id, $series_ids)
        and t.until - t.since <= $longest_step_ns
        and ($since is null or t.until > $since)
        and ($until is null or t.since < $until)
),

covered as (
    select
        u.value as unit_number,
        s.since,
        s.until
    from stretches as s
    inner join pairs($places, $place_units) as u on s.place_number = u.key
    where s.until > s.since
),

replica_pools as (
    select explode($by_replica) as pool_number
),

called as (
    select
        concat(
            cast(p.value as varchar),
            '/',
            case when b.pool_number is not null then coalesce(r.replica, '') else '' end
        ) as unit_key,
        coalesce(r.started_at, r.arrived_at) as started_at,
        r.ended_at
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join pairs($cohort_ids, $cohort_pools) as p on r.cohort_id = p.key
    left join replica_pools as b on p.value = b.pool_number
    where
        c.timing_quality = 'ok'
        and r.ended_at > coalesce(r.started_at, r.arrived_at)
        -- a call that the server refused was not in service
        and (r.started_at is not null or r.http_status is distinct from 429 or r.output_tokens > 0)
),

served as (
    select
        u.value as unit_number,
        r.started_at,
        r.ended_at
    from called as r
    inner join pairs($unit_keys, $unit_numbers) as u on r.unit_key = u.key
),

steps as (
    select
        unit_number,
        since as moment,
        1 as instances,
        0 as calls
    from covered
    union all
    select
        unit_number,
        until as moment,
        -1 as instances,
        0 as calls
    from covered
    union all
    select
        unit_number,
        started_at as moment,
        0 as instances,
        1 as calls
    from served
    union all
    select
        unit_number,
        ended_at as moment,
        0 as instances,
        -1 as calls
    from served
    union all
    select distinct
        unit_number,
        cast(quarter_of(until) as bigint) * 900000000000 as moment,
        0 as instances,
        0 as calls
    from covered
),

moments as (
    select
        unit_number,
        moment,
        sum(instances) as instances,
        sum(calls) as calls
    from steps
    group by unit_number, moment
),

levels as (
    select
        unit_number,
        moment,
        sum(instances) over (
            partition by unit_number
            order by moment
            rows unbounded preceding
        ) as instances,
        sum(calls) over (
            partition by unit_number
            order by moment
            rows unbounded preceding
        ) as calls,
        lead(moment) over (
            partition by unit_number
            order by moment
        ) as next_moment
    from moments
)

select
    unit_number,
    quarter_of(moment) as quarter,
    sum((next_moment - moment) / 1e9 * calls) as residence_s,
    sum((next_moment - moment) / 1e9 * least(calls, instances)) as busy_s,
    sum((next_moment - moment) / 1e9 * instances) as covered_s
from levels
where instances > 0
group by unit_number, quarter_of(moment)
order by unit_number, quarter
