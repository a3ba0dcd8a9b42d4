-- name: cohorts
-- question: Which combinations of payer, model and provenance are there?
-- grain: one cohort
-- unit: none
-- params: none
-- nulls: a column is null where telemetry and mapping do not tell it
-- identity: each call has one cohort
select
    cohort_id,
    origin,
    endpoint,
    endpoint_source,
    feature,
    team,
    tenant,
    service,
    environment,
    region,
    operation,
    provider,
    model_requested,
    model,
    pool,
    pool_reported,
    adapter,
    status,
    timing_source,
    timing_quality,
    tokens_source,
    pairing,
    scenario,
    arm
from cohorts
order by cohort_id
