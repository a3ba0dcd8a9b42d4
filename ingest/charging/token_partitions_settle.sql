-- The days of token-priced calls are priced.
update charge_partitions
set is_stale = false
where is_stale and pool is null;
