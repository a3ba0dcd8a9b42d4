-- name: engine_sizes
-- question: How large does each engine say it is: KV memory, longest context?
-- grain: a series of one of these metrics
-- unit: value is 1 of kv_blocks, whose labels have the size, and tokens of the others
-- params: none
-- nulls: model, instance and pool_reported are null where neither a label nor the scrape tells it
-- identity: value is the last that was sampled
with last_samples as (
    select
        series_id,
        max(sampled_at) as sampled_at
    from engine_samples
    where value is not null
    group by series_id
)

select
    s.series_id,
    s.engine,
    s.metric,
    s.model,
    s.instance,
    s.pool_reported,
    s.labels,
    n.sampled_at,
    n.value
from engine_series as s
inner join last_samples as l on s.series_id = l.series_id
inner join engine_samples as n on l.series_id = n.series_id and l.sampled_at = n.sampled_at
where s.metric in ('kv_blocks', 'kv_cache_tokens', 'max_model_len')
order by n.sampled_at, s.series_id
