-- Series that the ledger has not met get the next ids; a given id stays for good.
insert into engine_series by name
with unknown_series as (
    select distinct
        a.engine,
        a.metric,
        a.kind,
        a.name,
        a.name_rank,
        a.model,
        a.instance,
        a.pool_reported,
        a.labels,
        a.digest
    from staged_samples as a
    anti join engine_series as s on a.digest = s.digest
),

last_series as (
    select coalesce(max(series_id), 0) as series_id from engine_series
)

select
    u.*,
    l.series_id + row_number() over (order by u.digest, u.name_rank) as series_id
from unknown_series as u
cross join last_series as l
qualify row_number() over (
    partition by u.digest
    order by u.name_rank
) = 1;
