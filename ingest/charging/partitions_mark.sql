-- What lies in touched_partitions is to be charged again; a partition that is new gets a number.
update charge_partitions as p
set is_stale = true
from touched_partitions as t
where
    not p.is_stale
    and p.day = t.day
    and p.pool is not distinct from t.pool
    and p.replica is not distinct from t.replica;

insert into charge_partitions
with last_partition as (
    select coalesce(max(partition_id), 0) as partition_id from charge_partitions
),

unknown_partitions as (
    select t.*
    from touched_partitions as t
    anti join charge_partitions as p
        on
            t.day = p.day
            and t.pool is not distinct from p.pool
            and t.replica is not distinct from p.replica
)

select
    l.partition_id + row_number() over (order by u.day, u.pool, u.replica) as partition_id,
    u.pool,
    u.replica,
    u.day,
    true as is_stale
from unknown_partitions as u
cross join last_partition as l;

drop table touched_partitions;
