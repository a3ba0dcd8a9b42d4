-- Carries out what the comparison decided.
delete from contents
where call_id in (select call_id from leaving_calls);

delete from prompt_measures
where call_id in (select call_id from leaving_calls);

delete from call_rows
where rowid in (select row_no from leaving_calls);

insert into call_rows by name
with last_call as (
    select cast(value as bigint) as call_no from ledger_facts
    where name = 'last_call_no'
),

numbered as (
    select
        e.staged_no,
        e.cohort_id,
        l.call_no + row_number() over (order by e.staged_no) as call_no
    from entering_calls as e
    cross join last_call as l
),

call_columns as (
    select
        rowid as staged_no,
        * exclude (cohort_digest, prompt, completion, prompt_measures, is_derived)
    from staged_calls
),

entering as (
    select
        c.*,
        n.cohort_id,
        n.call_no
    from call_columns as c
    inner join numbered as n on c.staged_no = n.staged_no
)

select * exclude (staged_no) from entering
order by call_no;

insert into contents
select
    a.call_id,
    a.prompt,
    a.completion
from staged_calls as a
semi join entering_calls as e on a.rowid = e.staged_no
where a.prompt is not null or a.completion is not null;

insert into prompt_measures by name
select
    a.call_id,
    a.prompt_measures.user_turns,
    a.prompt_measures.examples_hash,
    a.prompt_measures.chunk_hashes,
    a.prompt_measures.chunk_signatures,
    a.prompt_measures.chunk_begins,
    a.prompt_measures.chunk_tokens,
    a.prompt_measures.chunk_markup_tokens,
    a.prompt_measures.chunk_is_result,
    a.prompt_measures.chunk_is_touched,
    a.prompt_measures.chunked_tokens,
    a.prompt_measures.duplicate_tokens,
    a.prompt_measures.markup_tokens,
    a.prompt_measures.near_duplicate_tokens,
    a.prompt_measures.untouched_tokens
from staged_calls as a
semi join entering_calls as e on a.rowid = e.staged_no
where a.prompt_measures is not null;

delete from tool_runs
where trace_id in (select trace_id from touched_traces);

insert into tool_runs
select * from staged_tool_runs;

delete from retrievals
where trace_id in (select trace_id from touched_traces);

insert into retrievals
select * from staged_retrievals;
