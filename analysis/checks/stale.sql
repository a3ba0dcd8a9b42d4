-- name: stale
-- question: Are all charges those of the calls as they are now?
-- grain: the ledger
-- unit: partitions (a replica over a UTC day)
-- params: none
-- nulls: none
-- identity: stale_count is 0
select
    count(*) filter (where is_stale) as stale_count,
    count(*) as partition_count
from charge_partitions
