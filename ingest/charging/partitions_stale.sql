-- The partitions of GPU-charged calls that are to be charged again.
select
    partition_id,
    pool,
    replica,
    day
from charge_partitions
where is_stale and pool is not null
order by day, pool, replica nulls first;
