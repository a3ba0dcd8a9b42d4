-- The partitions of $pool from day $first_day to day $last_day are to be charged again.
update charge_partitions
set is_stale = true
where pool = $pool and day between $first_day and $last_day;
