-- Every partition of GPU-charged calls is to be charged again.
update charge_partitions
set is_stale = true
where pool is not null;
