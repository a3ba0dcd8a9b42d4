-- The views of every group in broken_groups are calls of their own again, as they were told.
insert into relinked_calls
select
    r.cohort_id,
    r.replica,
    r.arrived_at,
    r.started_at,
    r.ended_at
from call_rows as r
semi join broken_groups as b on r.call_id = b.call_id;

insert into restored_calls
select v.call_id
from call_views as v
semi join broken_groups as b on v.counted_as = b.call_id;

delete from call_rows
where call_id in (select call_id from broken_groups);

insert into call_rows by name
with last_call as (
    select cast(value as bigint) as call_no from ledger_facts
    where name = 'last_call_no'
),

returning_views as (
    select
        v.* exclude (cohort_digest, counted_as, rule),
        c.cohort_id
    from call_views as v
    semi join broken_groups as b on v.counted_as = b.call_id
    inner join cohorts as c
        on
            v.cohort_digest = c.digest
            and greatest(coalesce(v.started_at, v.arrived_at, v.ended_at, 0), 0) >= c.pool_from
            and (
                c.pool_until is null
                or greatest(coalesce(v.started_at, v.arrived_at, v.ended_at, 0), 0) < c.pool_until
            )
)

select
    v.*,
    l.call_no + row_number() over (order by v.call_id) as call_no
from returning_views as v
cross join last_call as l;

insert into relinked_calls
select
    r.cohort_id,
    r.replica,
    r.arrived_at,
    r.started_at,
    r.ended_at
from call_rows as r
semi join restored_calls as v on r.call_id = v.call_id;

delete from call_views
where counted_as in (select call_id from broken_groups);
