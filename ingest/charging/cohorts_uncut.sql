-- No model moves and none did: each combination has one cohort, in which all its calls stay.
create or replace temp table ended_cohorts as
select cohort_id from cohorts
where false;

create or replace temp table era_moves as
select
    cohort_id,
    cohort_id as era_cohort_id,
    pool_from,
    pool_until
from cohorts
where false;
