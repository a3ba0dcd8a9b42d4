-- The traces named in $traces, and those in which a call or a span names one of $users: in a span
-- as a whole value of its attributes or its resource.
create or replace temp table chosen_traces as
with named as (
    select unnest($traces) as trace_id
),

users as (
    select unnest($users) as user_id
),

of_calls as (
    select r.trace_id
    from call_rows as r
    semi join users as u on r.user_id = u.user_id
    where r.trace_id is not null
),

of_views as (
    select v.trace_id
    from call_views as v
    semi join users as u on v.user_id = u.user_id
    where v.trace_id is not null
),

of_spans as (
    select s.trace_id
    from spans as s
    cross join users as u
    where
        contains(s.attributes, cast(to_json(u.user_id) as varchar))
        or contains(s.resource, cast(to_json(u.user_id) as varchar))
        or contains(s.attributes, replace(cast(to_json(u.user_id) as varchar), '"', '\"'))
)

select trace_id from named
union
select trace_id from of_calls
union
select trace_id from of_views
union
select trace_id from of_spans;
