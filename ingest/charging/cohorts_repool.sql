-- The calls whose partitions change with the pool of their cohort, or with their cohort: a call is
-- in the cohort of the era in which its service starts. One that tells no time, or one before 1970,
-- is in the first era.
create or replace temp table repooled_calls as
with changed_cohorts as (
    select cohort_id from repooled_cohorts
    union
    select cohort_id from era_moves
),

placed as (
    select
        rowid as row_no,
        call_no,
        cohort_id,
        replica,
        arrived_at,
        started_at,
        ended_at,
        greatest(coalesce(started_at, arrived_at, ended_at, 0), 0) as first_at
    from call_rows
    where cohort_id in (select h.cohort_id from changed_cohorts as h)
)

select
    p.row_no,
    p.call_no,
    p.cohort_id,
    m.era_cohort_id,
    p.replica,
    p.arrived_at,
    p.started_at,
    p.ended_at
from placed as p
left join era_moves as m
    on
        p.cohort_id = m.cohort_id
        and p.first_at >= m.pool_from
        and (m.pool_until is null or p.first_at < m.pool_until)
where m.era_cohort_id is not null or p.cohort_id in (select h.cohort_id from repooled_cohorts as h);
