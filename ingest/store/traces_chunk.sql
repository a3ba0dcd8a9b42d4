-- All spans of the touched traces, in chunks of whole traces: about $chunk_spans spans each, a
-- larger trace being a chunk of its own. Row numbers hold within the transaction.
create or replace temp table touched_spans as
with found as (
    select
        s.rowid as row_no,
        s.trace_id,
        s.span_id
    from spans as s
    semi join touched_traces as t on s.trace_id = t.trace_id
),

traces as (
    select
        trace_id,
        min(row_no) as first_row_no,
        count(*) as span_count
    from found
    group by trace_id
),

sums as (
    select
        trace_id,
        span_count,
        sum(span_count) over (order by first_row_no, trace_id) as span_sum
    from traces
),

chunks as (
    select
        trace_id,
        cast(floor((span_sum - span_count) / $chunk_spans) as bigint) as chunk_no
    from sums
)

select
    f.row_no,
    f.trace_id,
    f.span_id,
    c.chunk_no
from found as f
inner join chunks as c on f.trace_id = c.trace_id;
