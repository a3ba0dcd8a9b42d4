-- name: token_costs
-- question: What does each call cost that is not charged by GPU-seconds?
-- grain: a call
-- unit: billionths of the currency
-- params: $cohort_ids are the cohorts selected
-- nulls: none; a call without a price has no row
-- identity: summed over all rows they are the token costs of the cohorts
with cohort_choice as (
    select explode($cohort_ids) as cohort_id
)

select
    t.call_no,
    t.cohort_id,
    t.currency,
    cast(t.token_cost * 1000000000 as bigint) as cost_billionths
from token_charges as t
inner join cohort_choice as k on t.cohort_id = k.cohort_id
