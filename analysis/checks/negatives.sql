-- name: negatives
-- question: How many charges have negative seconds or GPU-seconds?
-- grain: the ledger
-- unit: charges
-- params: none
-- nulls: none
-- identity: negative_count is 0 in a sound ledger
select
    count(*) as charge_count,
    count(case
        when least(prefill_s, decode_s, prefill_gpu_seconds, decode_gpu_seconds) < 0 then 1
    end) as negative_count
from charges
