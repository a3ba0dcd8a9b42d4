-- name: lane_days
-- question: On which days does a pool have calls that do not name their replica?
-- grain: a pool and a day of UTC
-- unit: days since 1970
-- params: none
-- nulls: none
-- identity: on every other day each charged call of the pool names its replica
select distinct
    pool,
    day
from charge_partitions
where pool is not null and replica is null
order by pool, day
