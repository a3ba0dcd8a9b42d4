-- name: engine_series
-- question: Which metrics of which engines are in the ledger?
-- grain: a series of an engine's metric
-- unit: instants in nanoseconds since 1970; sample_count in samples
-- params: none
-- nulls: model, instance and pool_reported are null where neither a label nor the scrape tells it
-- identity: every sample is of one of these series, or tells how large its engine is

-- What an engine says of its size (engine_sizes) has other labels, and would look like another
-- engine.
with extents as (
    select
        series_id,
        min(sampled_at) as first_at,
        max(sampled_at) as last_at,
        count(*) as sample_count
    from engine_samples
    group by series_id
)

select
    s.series_id,
    s.engine,
    s.metric,
    s.name_rank,
    s.model,
    s.instance,
    s.pool_reported,
    s.labels,
    e.first_at,
    e.last_at,
    e.sample_count
from engine_series as s
inner join extents as e on s.series_id = e.series_id
where s.metric not in ('kv_blocks', 'kv_cache_tokens', 'max_model_len')
order by s.series_id
