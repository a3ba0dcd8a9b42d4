-- name: orphans
-- question: Does every row find the rows that it refers to?
-- grain: one kind of reference
-- unit: rows without their counterpart
-- params: none
-- nulls: none
-- identity: every orphan_count is 0
with samples as (
    select
        series_id,
        sampled_at,
        count(*) as sample_count
    from engine_samples
    group by series_id, sampled_at
    having count(*) > 1
),

orphans as (
    select
        'call without cohort' as kind,
        count(*) as orphan_count
    from call_rows as r
    left join cohorts as c on r.cohort_id = c.cohort_id
    where c.cohort_id is null
    union all
    select
        'charge without its call and cohort' as kind,
        count(*) as orphan_count
    from charges as h
    left join call_rows as r on h.call_no = r.call_no and h.cohort_id = r.cohort_id
    where r.call_no is null
    union all
    select
        'charge without rate' as kind,
        count(*) as orphan_count
    from charges as h
    left join pools as p on h.rate_id = p.rate_id
    where p.rate_id is null
    union all
    select
        'charge without partition' as kind,
        count(*) as orphan_count
    from charges as h
    left join charge_partitions as p on h.partition_id = p.partition_id
    where p.partition_id is null
    union all
    select
        'token charge without its call and cohort' as kind,
        count(*) as orphan_count
    from token_charges as t
    left join call_rows as r on t.call_no = r.call_no and t.cohort_id = r.cohort_id
    where r.call_no is null
    union all
    select
        'call charged both ways' as kind,
        count(distinct t.call_no) as orphan_count
    from token_charges as t
    inner join charges as h on t.call_no = h.call_no
    union all
    select
        'call that is there twice' as kind,
        count(*) - count(distinct call_id) as orphan_count
    from call_rows
    union all
    select
        'call priced by the token twice' as kind,
        count(*) - count(distinct call_no) as orphan_count
    from token_charges
    union all
    select
        'sample of an engine without series' as kind,
        count(*) as orphan_count
    from engine_samples as n
    left join engine_series as s on n.series_id = s.series_id
    where s.series_id is null
    union all
    select
        'sample of an engine that is there twice' as kind,
        coalesce(sum(sample_count - 1), 0) as orphan_count
    from samples
)

select
    kind,
    orphan_count
from orphans
order by kind
