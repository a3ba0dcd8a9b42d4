-- The partitions in which the calls of table $touched lie: one for each UTC day of a call that is
-- charged by GPU-seconds, the day that dates the price for one that is priced by the token.
create or replace temp table touched_partitions as
with placed as (
    select
        c.pool,
        case when c.pool is not null then t.replica end as replica,
        coalesce(t.started_at, t.arrived_at, t.ended_at) as first_at,
        case
            when c.pool is not null then coalesce(t.ended_at, t.started_at, t.arrived_at)
            else coalesce(t.started_at, t.arrived_at, t.ended_at)
        end as last_at
    from query_table($touched) as t
    inner join cohorts as c on t.cohort_id = c.cohort_id
    where c.timing_quality <> 'invalid' or c.pool is null
),

stretches as (
    select distinct
        pool,
        replica,
        first_at // 86400000000000 as first_day,
        last_at // 86400000000000 as last_day
    from placed
    where first_at is not null and last_at >= first_at
)

select distinct
    pool,
    replica,
    cast(unnest(range(first_day, last_day + 1)) as integer) as day
from stretches;
