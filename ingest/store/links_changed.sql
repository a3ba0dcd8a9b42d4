-- What decides about links and is not as it was: versions of calls that leave, enter or are set
-- free. Run between the comparison of a delivery with the ledger and its carrying out.
create or replace temp table changed_calls as
with versions as (
    select
        r.response_id,
        r.input_tokens,
        r.output_tokens,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at
    from call_rows as r
    semi join leaving_calls as l on r.rowid = l.row_no
    union all
    select
        r.response_id,
        r.input_tokens,
        r.output_tokens,
        coalesce(r.arrived_at, r.started_at) as begun_at,
        r.ended_at
    from call_rows as r
    semi join restored_calls as v on r.call_id = v.call_id
    union all
    select
        a.response_id,
        a.uncached_input_tokens + coalesce(a.cache_read_tokens, 0)
        + coalesce(a.cache_write_tokens, 0) as input_tokens,
        a.visible_output_tokens + coalesce(a.reasoning_tokens, 0) as output_tokens,
        coalesce(a.arrived_at, a.started_at) as begun_at,
        a.ended_at
    from staged_calls as a
    semi join entering_calls as e on a.rowid = e.staged_no
)

select distinct * from versions
where
    ended_at >= begun_at
    and ended_at - begun_at <= $longest_ns
    and (response_id is not null or (input_tokens is not null and output_tokens is not null));
