-- One value for each series and instant, whatever came first: the largest that was told, and the
-- earliest beginning.
create or replace temp table sample_winners as
with arrived as (
    select
        s.series_id,
        a.sampled_at,
        max(a.value) as value,
        min(a.began_at) as began_at,
        min(a.delivery_id) as delivery_id,
        count(*) as staged_count,
        count(distinct a.value) as value_count
    from staged_samples as a
    inner join engine_series as s on a.digest = s.digest
    group by s.series_id, a.sampled_at
)

select
    a.series_id,
    a.sampled_at,
    greatest(a.value, n.value) as value,
    least(a.began_at, n.began_at) as began_at,
    a.delivery_id,
    a.staged_count,
    a.value_count,
    n.series_id is null as is_new,
    n.value as previous_value,
    (
        n.value is distinct from greatest(a.value, n.value)
        or n.began_at is distinct from least(a.began_at, n.began_at)
    ) as is_other
from arrived as a
left join engine_samples as n on a.series_id = n.series_id and a.sampled_at = n.sampled_at;

update engine_samples
set value = w.value, began_at = w.began_at
from sample_winners as w
where
    engine_samples.series_id = w.series_id
    and engine_samples.sampled_at = w.sampled_at
    and w.is_other
    and not w.is_new;

insert into engine_samples by name
select
    series_id,
    sampled_at,
    began_at,
    value,
    delivery_id
from sample_winners
where is_new;
