-- The pools of cohorts: an era of a combination that is in several may be without a call, and
-- then names none.
with eras as (
    select
        cohort_id,
        pool
    from cohorts
    where pool is not null and (pool_from > 0 or pool_until is not null)
),

served as (
    select distinct r.cohort_id
    from call_rows as r
    semi join eras as e on r.cohort_id = e.cohort_id
)

select pool
from cohorts
where pool is not null and pool_from = 0 and pool_until is null
union
select e.pool
from eras as e
semi join served as s on e.cohort_id = s.cohort_id;
