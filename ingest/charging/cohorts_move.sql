-- Each cohort to the pool that it was resolved to, each call to the cohort of its era. A price by
-- the token that was given stays with its call. What is left without an era has no call any more.
update cohorts as c
set pool = p.new_pool
from repooled_cohorts as p
where c.cohort_id = p.cohort_id;

update call_rows as r
set cohort_id = p.era_cohort_id
from repooled_calls as p
where p.era_cohort_id is not null and r.rowid = p.row_no;

update token_charges as t
set cohort_id = p.era_cohort_id
from repooled_calls as p
where p.era_cohort_id is not null and t.call_no = p.call_no;

update repooled_calls
set cohort_id = era_cohort_id
where era_cohort_id is not null;

delete from cohorts
where cohort_id in (select e.cohort_id from ended_cohorts as e);
