-- name: charged_pieces
-- question: What was charged for each piece of each call, by phase and rate?
-- grain: a piece of a call's time in service, as in charges
-- unit: whole GPU-picoseconds
-- params: $cohort_ids are the cohorts selected
-- nulls: none
-- identity: summed over all rows they are the charges of the cohorts
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
)

select
    h.call_no,
    h.cohort_id,
    h.rate_id,
    picoseconds(h.prefill_gpu_seconds) as prefill_ps,
    picoseconds(h.decode_gpu_seconds) as decode_ps
from charges as h
inner join cohort_choice as k on h.cohort_id = k.cohort_id
