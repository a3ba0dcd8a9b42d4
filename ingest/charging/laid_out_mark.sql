-- A call without an end is laid out from its arrival, maybe past midnight: where the day of its
-- arrival is stale, so are the days that it reaches now and those that it reached before. A
-- call that is gone may have been one of these, and counts as one.
create or replace temp table laid_out_calls as
with stale as (
    select
        pool,
        replica,
        day
    from charge_partitions
    where is_stale
)

select
    t.cohort_id,
    t.replica,
    t.started_at as arrived_at,
    t.started_at,
    t.ended_at
from timed_calls as t
semi join stale as s
    on
        t.pool = s.pool
        and t.replica is not distinct from s.replica
        and t.started_at // 86400000000000 = s.day
where t.observed_ended_at is null;

update charge_partitions
set is_stale = true
where not is_stale and partition_id in (
    with reached as (
        select h.call_no
        from charges as h
        semi join charge_partitions as p on h.partition_id = p.partition_id and p.is_stale
        left join call_rows as r on h.call_no = r.call_no
        where r.ended_at is null
    )

    select h.partition_id
    from charges as h
    semi join reached as r on h.call_no = r.call_no
);
