-- Where a delivery waits before it is compared with the ledger. Columns are those of the ledger.
create or replace temp table staged_spans as
select * from spans
where false;

create or replace temp table staged_calls as
with call_columns as (
    select * exclude (call_no, cohort_id, input_tokens, output_tokens) from call_rows
),

measure_columns as (
    select * exclude (call_id) from prompt_measures
),

measured as (
    select measure_columns as prompt_measures from measure_columns
)

select
    r.*,
    r.digest as cohort_digest,
    t.prompt,
    t.completion,
    m.prompt_measures,
    false as is_derived                   -- from spans, not from a record of a call
from call_columns as r
cross join contents as t
cross join measured as m
where false;

create or replace temp table staged_cohorts as
select * exclude (cohort_id, pool, pool_from, pool_until) from cohorts
where false;

create or replace temp table staged_tool_runs as
select * from tool_runs
where false;

create or replace temp table staged_retrievals as
select * from retrievals
where false;

create or replace temp table staged_samples as
select
    s.* exclude (series_id),
    n.sampled_at,
    n.began_at,
    n.value,
    n.delivery_id
from engine_series as s
cross join engine_samples as n
where false;

create or replace temp table touched_traces as
select trace_id from spans
where false;
