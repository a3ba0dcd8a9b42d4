-- Every trace of the ledger, in parts of about $part_spans spans, a larger trace being a part of
-- its own: the mapping has changed, and each is to be derived again.
create or replace temp table planned_traces as
with traces as (
    select
        trace_id,
        min(rowid) as first_row_no,
        count(*) as span_count
    from spans
    group by trace_id
),

sums as (
    select
        trace_id,
        span_count,
        sum(span_count) over (order by first_row_no) as span_sum
    from traces
),

filled as (
    select
        trace_id,
        floor((span_sum - span_count) / $part_spans) as fill
    from sums
)

select
    trace_id,
    dense_rank() over (order by fill) - 1 as part_no
from filled;
