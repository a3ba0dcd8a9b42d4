-- The calls whose partitions change with the pool of their cohort.
create or replace temp table repooled_calls as
select
    r.cohort_id,
    r.replica,
    r.arrived_at,
    r.started_at,
    r.ended_at
from call_rows as r
semi join repooled_cohorts as p on r.cohort_id = p.cohort_id;
