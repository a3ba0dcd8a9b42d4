-- Each cohort to the pool that it was resolved to.
update cohorts as c
set pool = p.new_pool
from repooled_cohorts as p
where c.cohort_id = p.cohort_id;
