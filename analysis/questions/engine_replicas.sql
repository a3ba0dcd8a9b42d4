-- name: engine_replicas
-- question: Which replicas do the calls of each pool name?
-- grain: a pool and a replica
-- unit: none
-- params: none
-- nulls: replica is null where calls of the pool name none
-- identity: each charged partition of a pool is of one of these
select distinct
    pool,
    replica
from charge_partitions
where pool is not null
order by pool, replica nulls first
