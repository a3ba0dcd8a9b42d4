-- Combinations that the ledger has not met get the next ids; a given id stays for good.
insert into cohorts by name
with unknown_cohorts as (
    select distinct a.*
    from staged_cohorts as a
    anti join cohorts as c on a.digest = c.digest
),

last_cohort as (
    select coalesce(max(cohort_id), 0) as cohort_id from cohorts
)

select
    u.*,
    l.cohort_id + row_number() over (order by u.digest) as cohort_id
from unknown_cohorts as u
cross join last_cohort as l;
