-- The views in linked_views leave the calls, and the calls that they make together enter.
insert into relinked_calls
select
    r.cohort_id,
    r.replica,
    r.arrived_at,
    r.started_at,
    r.ended_at
from call_rows as r
semi join linked_views as v on r.call_id = v.call_id;

insert into call_views by name
select
    r.* exclude (call_no, cohort_id, input_tokens, output_tokens),
    c.digest as cohort_digest,
    v.counted_as,
    v.rule
from call_rows as r
inner join linked_views as v on r.call_id = v.call_id
inner join cohorts as c on r.cohort_id = c.cohort_id;

delete from call_rows
where call_id in (select call_id from linked_views);

insert into call_rows by name
with last_call as (
    select cast(value as bigint) as call_no from ledger_facts
    where name = 'last_call_no'
),

joined_calls as (
    select
        a.* exclude (cohort_digest, prompt, completion, prompt_measures, is_derived),
        c.cohort_id
    from staged_calls as a
    inner join cohorts as c
        on
            a.cohort_digest = c.digest
            and greatest(coalesce(a.started_at, a.arrived_at, a.ended_at, 0), 0) >= c.pool_from
            and (
                c.pool_until is null
                or greatest(coalesce(a.started_at, a.arrived_at, a.ended_at, 0), 0) < c.pool_until
            )
)

select
    j.*,
    l.call_no + row_number() over (order by j.call_id) as call_no
from joined_calls as j
cross join last_call as l;

insert into relinked_calls
select
    r.cohort_id,
    r.replica,
    r.arrived_at,
    r.started_at,
    r.ended_at
from call_rows as r
semi join staged_calls as a on r.call_id = a.call_id;
