-- Which of the rows that wait enter the ledger together: parts of about $part_records records or
-- $part_bytes bytes of text, in the order of the source. The spans of a trace are in one part.
-- Calls come behind all spans: where the ledger has the span of a call, the span speaks.
create table held_parts as
with weighed as (
    select
        'spans' as kind,
        rowid as row_no,
        trace_id as unit,
        1.0 / $part_records + (strlen(attributes) + strlen(events)) / $part_bytes as weight
    from held_spans
    union all
    select
        'calls' as kind,
        rowid as row_no,
        cast(rowid as varchar) as unit,
        1.0 / $part_records
        + (coalesce(strlen(prompt), 0) + coalesce(strlen(completion), 0)) / $part_bytes as weight
    from held_calls
    union all
    select
        'samples' as kind,
        rowid as row_no,
        cast(rowid as varchar) as unit,
        1.0 / $part_records as weight
    from held_samples
    union all
    select
        'rejects' as kind,
        rowid as row_no,
        cast(rowid as varchar) as unit,
        1.0 / $part_records + coalesce(strlen(record), 0) / $part_bytes as weight
    from held_rejects
),

units as (
    select
        kind,
        unit,
        min(row_no) as first_row_no,
        sum(weight) as weight
    from weighed
    group by kind, unit
),

sums as (
    select
        kind,
        unit,
        floor(sum(weight) over (partition by kind order by first_row_no) - weight) as fill
    from units
),

numbered as (
    select
        kind,
        unit,
        dense_rank() over (partition by kind order by fill) - 1 as part_no
    from sums
),

last_of_spans as (
    select coalesce(max(part_no), 0) as part_no from numbered
    where kind = 'spans'
)

select
    w.kind,
    w.row_no,
    n.part_no + if(w.kind = 'calls', s.part_no, 0) as part_no
from weighed as w
inner join numbered as n on w.kind = n.kind and w.unit = n.unit
cross join last_of_spans as s
order by w.kind, part_no, w.row_no;
