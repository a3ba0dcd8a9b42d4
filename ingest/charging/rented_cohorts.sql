-- The cohorts that are priced by the token; calls of one model_no have the same prices.
create or replace temp table rented_cohorts as
select
    cohort_id,
    operation,
    provider,
    model,
    model_requested,
    cast(dense_rank() over (order by provider, model, model_requested) as integer) as model_no
from cohorts
where pool is null;
