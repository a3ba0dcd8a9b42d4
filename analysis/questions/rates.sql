-- name: rates
-- question: What did each pool consist of and cost, and when?
-- grain: one pool over one stretch of time with constant size and price
-- unit: price_per_gpu_hour in currency per GPU-hour; effective_from and effective_to in
--   nanoseconds since 1970
-- params: none
-- nulls: replicas and price_per_gpu_hour are null where no configuration tells them
-- identity: the stretches of a pool do not overlap and cover all time
select
    rate_id,
    pool,
    effective_from,
    effective_to,
    gpus_per_replica,
    replicas,
    price_per_gpu_hour,
    currency,
    is_configured
from pools
order by pool, effective_from
