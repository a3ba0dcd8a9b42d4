-- name: engine_series
-- question: Which metrics of which engines are in the ledger?
-- grain: a series of an engine's metric
-- unit: none
-- params: none
-- nulls: model, instance and pool_reported are null where neither a label nor the scrape tells it
-- identity: every sample is of one of these series
select
    series_id,
    engine,
    metric,
    name_rank,
    model,
    instance,
    pool_reported,
    labels
from engine_series
order by series_id
