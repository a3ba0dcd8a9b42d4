-- What the views in paired_views could be joined with decides about them as well: they count as
-- changed, unless they do already.
insert into changed_calls
with reached as (
    select
        e.response_id,
        e.input_tokens,
        e.output_tokens,
        e.begun_at,
        e.ended_at
    from link_evidence as e
    semi join paired_views as p on e.call_id = p.call_id
    union
    select
        v.response_id,
        v.uncached_input_tokens + coalesce(v.cache_read_tokens, 0)
        + coalesce(v.cache_write_tokens, 0) as input_tokens,
        v.visible_output_tokens + coalesce(v.reasoning_tokens, 0) as output_tokens,
        coalesce(v.arrived_at, v.started_at) as begun_at,
        v.ended_at
    from call_views as v
    semi join paired_views as p on v.call_id = p.call_id
)

select * from reached
except
select * from changed_calls
returning ended_at;
