-- The partitions of GPU-charged calls on one UTC day.
select
    partition_id,
    pool,
    replica,
    day
from charge_partitions
where day = $day and pool is not null
order by pool, replica nulls first;
