-- Staged spans into the ledger: of all versions of a span the fullest stays, whatever the order
-- in which they came. A re-sent span may have other times, so identity alone finds it: one scan of
-- the ledger's trace ids.
create or replace temp table known_spans as
select
    s.rowid as row_no,
    s.trace_id,
    s.span_id,
    s.fullness,
    s.ended_at,
    s.digest
from spans as s
semi join staged_spans as a on s.trace_id = a.trace_id;

-- One row for each arriving span. staged_no is null where the ledger's version stays, row_no is
-- null where the ledger had none. The digest begins with the usage, so the larger usage wins.
create or replace temp table span_winners as
with versions as (
    select
        trace_id,
        span_id,
        fullness,
        ended_at,
        digest,
        rowid as staged_no,
        cast(null as bigint) as row_no
    from staged_spans
    union all
    select
        k.trace_id,
        k.span_id,
        k.fullness,
        k.ended_at,
        k.digest,
        cast(null as bigint) as staged_no,
        k.row_no
    from known_spans as k
    semi join staged_spans as a on k.trace_id = a.trace_id and k.span_id = a.span_id
),

ranked as (
    select
        *,
        row_number() over w as place,
        first_value(digest) over w as winner_digest
    from versions
    window w as (
        partition by trace_id, span_id
        order by
            fullness desc, ended_at desc nulls last, digest desc,
            row_no asc nulls last, staged_no asc
    )
)

select
    trace_id,
    span_id,
    max(staged_no) filter (where place = 1) as staged_no,
    max(row_no) as row_no,
    count(staged_no) as staged_count,
    count(*) filter (where digest <> winner_digest) as conflict_count
from ranked
group by trace_id, span_id;

delete from spans
where rowid in (
    select row_no from span_winners
    where staged_no is not null and row_no is not null
);

insert into spans
select a.*
from staged_spans as a
inner join span_winners as w on a.rowid = w.staged_no
order by a.rowid;

insert into touched_traces
select distinct trace_id from span_winners
where staged_no is not null;

drop table staged_spans;

drop table known_spans;
