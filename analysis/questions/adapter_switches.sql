-- name: adapter_switches
-- question: How often does a call follow one with another adapter on its replica?
-- grain: one row
-- unit: calls
-- params: $cohort_ids are cohorts with an adapter; $since and $until in nanoseconds or null,
--   half-open
-- nulls: none; a call without a replica or a time is not looked at
-- identity: switch_count is at most call_count
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
),

served as (
    select
        c.adapter,
        lag(c.adapter) over (
            partition by c.pool, r.replica
            order by coalesce(r.started_at, r.arrived_at), r.call_id
        ) as earlier_adapter
    from call_rows as r
    inner join cohorts as c on r.cohort_id = c.cohort_id
    inner join cohort_choice as k on c.cohort_id = k.cohort_id
    where
        r.replica is not null
        and coalesce(r.started_at, r.arrived_at) is not null
        and ($since is null or coalesce(r.started_at, r.arrived_at) >= $since)
        and ($until is null or coalesce(r.started_at, r.arrived_at) < $until)
)

select
    count(*) as call_count,
    count(case when adapter <> earlier_adapter then 1 end) as switch_count
from served
