-- Which calls enter the ledger and which leave it.
--
-- A call that is derived from spans replaces what was derived from the same trace before. A record
-- of a call contends with the ledger's version as spans do; where the ledger has the call's span,
-- the span speaks and the record is a duplicate, whichever came first.
create or replace temp table spoken_for as
with candidates as (
    select
        rowid as staged_no,
        call_id,
        trace_id,
        span_id,
        digest
    from staged_calls
    where not is_derived and trace_id is not null and span_id is not null
),

found as (
    select
        s.trace_id,
        s.span_id
    from spans as s
    semi join candidates as c on s.trace_id = c.trace_id and s.span_id = c.span_id
)

select
    c.staged_no,
    c.call_id,
    c.digest
from candidates as c
semi join found as f on c.trace_id = f.trace_id and c.span_id = f.span_id;

create or replace temp table record_winners as
with arriving as (
    select
        a.call_id,
        a.fullness,
        a.ended_at,
        a.digest,
        a.rowid as staged_no,
        cast(null as bigint) as row_no
    from staged_calls as a
    anti join spoken_for as s on a.rowid = s.staged_no
    where not a.is_derived
),

versions as (
    select * from arriving
    union all
    select
        r.call_id,
        r.fullness,
        r.ended_at,
        r.digest,
        cast(null as bigint) as staged_no,
        r.rowid as row_no
    from call_rows as r
    semi join arriving as a on r.call_id = a.call_id
),

ranked as (
    select
        *,
        row_number() over w as place,
        first_value(digest) over w as winner_digest
    from versions
    window w as (
        partition by call_id
        order by
            fullness desc, ended_at desc nulls last, digest desc,
            row_no asc nulls last, staged_no asc
    )
)

select
    call_id,
    max(staged_no) filter (where place = 1) as staged_no,
    max(row_no) as row_no,
    count(staged_no) as staged_count,
    count(*) filter (where digest <> winner_digest) as conflict_count
from ranked
group by call_id;

create or replace temp table leaving_calls as
with derived as (
    select
        call_id,
        digest
    from staged_calls
    where is_derived
),

of_touched_spans as (
    select
        r.rowid as row_no,
        r.call_id,
        r.digest
    from call_rows as r
    semi join touched_spans as t on r.trace_id = t.trace_id and r.span_id = t.span_id
),

superseded as (
    select
        r.rowid as row_no,
        r.call_id,
        r.digest
    from call_rows as r
    semi join derived as d on r.call_id = d.call_id
),

replaceable as (
    select * from of_touched_spans
    union
    select * from superseded
)

select
    r.row_no,
    r.call_id
from replaceable as r
anti join derived as d on r.call_id = d.call_id and r.digest = d.digest
union all
select
    row_no,
    call_id
from record_winners
where staged_no is not null and row_no is not null;

-- A call enters the cohort of its combination in whose era its service starts (its first known
-- instant); one that tells no time, or one before 1970, is in the first era.
create or replace temp table entering_calls as
with derived as (
    select
        rowid as staged_no,
        call_id,
        digest
    from staged_calls
    where is_derived
),

entering as (
    select d.staged_no
    from derived as d
    anti join call_rows as r on d.call_id = r.call_id and d.digest = r.digest
    union all
    select staged_no from record_winners
    where staged_no is not null
),

placed as (
    select
        rowid as staged_no,
        cohort_digest,
        greatest(coalesce(started_at, arrived_at, ended_at, 0), 0) as first_at
    from staged_calls
)

select
    p.staged_no,
    c.cohort_id
from placed as p
semi join entering as e on p.staged_no = e.staged_no
inner join cohorts as c
    on
        p.cohort_digest = c.digest
        and p.first_at >= c.pool_from
        and (c.pool_until is null or p.first_at < c.pool_until);

-- What charging has to compute again.
create or replace temp table touched_calls as
select
    r.cohort_id,
    r.replica,
    r.arrived_at,
    r.started_at,
    r.ended_at
from call_rows as r
semi join leaving_calls as l on r.rowid = l.row_no
union all
select
    e.cohort_id,
    a.replica,
    a.arrived_at,
    a.started_at,
    a.ended_at
from staged_calls as a
inner join entering_calls as e on a.rowid = e.staged_no;
