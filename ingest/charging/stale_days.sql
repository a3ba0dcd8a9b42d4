-- The first and the last day of calls that are to be priced by the token again.
select
    min(day) as first_day,
    max(day) as last_day
from charge_partitions
where is_stale and pool is null
