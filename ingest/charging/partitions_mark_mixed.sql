-- Where a pool has calls of known and of unknown replica on one day, what one call is charged may
-- depend on all the others: what touches one of its partitions of that day touches each.
update charge_partitions as p
set is_stale = true
from (
    select
        pool,
        day
    from charge_partitions
    where pool is not null
    group by pool, day
    having bool_or(is_stale) and bool_or(replica is null) and bool_or(replica is not null)
) as m
where not p.is_stale and p.pool = m.pool and p.day = m.day;
