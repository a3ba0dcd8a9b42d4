-- One value for each series and instant, whatever came first: the largest that was told, and the
-- earliest beginning. Every other value is counted, be it of this delivery or of the ledger.
create or replace temp table sample_winners as
with arrived as (
    select
        s.series_id,
        a.sampled_at,
        a.value,
        a.began_at,
        a.delivery_id,
        n.series_id is null as is_new,
        n.value as previous_value,
        n.began_at as previous_began_at
    from staged_samples as a
    inner join engine_series as s on a.digest = s.digest
    left join engine_samples as n on s.series_id = n.series_id and a.sampled_at = n.sampled_at
),

merged as (
    select
        series_id,
        sampled_at,
        is_new,
        previous_value,
        previous_began_at,
        greatest(max(value), previous_value) as value,
        least(min(began_at), previous_began_at) as began_at,
        min(delivery_id) as delivery_id,
        count(*) as staged_count,
        count(distinct value) as value_count,
        coalesce(bool_or(value = previous_value), false) as is_told_again
    from arrived
    group by series_id, sampled_at, is_new, previous_value, previous_began_at
)

select
    series_id,
    sampled_at,
    value,
    began_at,
    delivery_id,
    staged_count,
    is_new,
    (
        previous_value is distinct from value
        or previous_began_at is distinct from began_at
    ) as is_other,
    greatest(
        value_count - case when previous_value is null or is_told_again then 1 else 0 end, 0
    ) as conflict_count
from merged;

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
