-- name: charged
-- question: How many GPU-seconds does each quarter-hour of each rate have, whoever pays?
-- grain: one rate and quarter-hour
-- unit: picoseconds of GPUs
-- params: none
-- nulls: none
-- identity: summed by pool and month it is what the lines of law add up to over all origins
select
    rate_id,
    quarter,
    sum_picoseconds(prefill_gpu_seconds) + sum_picoseconds(decode_gpu_seconds) as gpu_ps
from charges
group by rate_id, quarter
order by rate_id, quarter
