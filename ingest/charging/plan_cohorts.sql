-- What plans may tell the cohorts of production by that are priced by the token.
select
    c.cohort_id,
    c.endpoint,
    c.feature,
    c.team,
    c.tenant,
    c.service,
    c.environment,
    c.region,
    c.operation,
    c.provider,
    c.model_requested,
    c.model,
    c.adapter
from cohorts as c
semi join rented_cohorts as r on c.cohort_id = r.cohort_id
where c.origin = 'production'
order by c.cohort_id
