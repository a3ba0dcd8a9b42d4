-- Calls of the pools in moved_pools whose phases are estimated: what they lie in now, and what
-- they were charged in before.
create or replace temp table estimated_calls as
select
    t.call_no,
    t.cohort_id,
    t.replica,
    t.started_at as arrived_at,
    t.started_at,
    t.ended_at
from timed_calls as t
semi join moved_pools as m on t.pool = m.pool
where t.observed_first_token_at is null or t.observed_ended_at is null;

update charge_partitions
set is_stale = true
where partition_id in (
    select h.partition_id
    from charges as h
    semi join estimated_calls as e on h.call_no = e.call_no
);
