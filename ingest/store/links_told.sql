-- Views that a pair names or whose links are decided anew, and the groups of which they are, whole.
with concerned as (
    select
        e.call_id,
        e.observer,
        e.response_id,
        e.is_decided,
        v.counted_as
    from link_evidence as e
    left join call_views as v on e.call_id = v.call_id
    where
        e.is_decided
        or e.call_id in (select call_id from paired_views)
)

select
    c.call_id,
    c.observer,
    c.response_id,
    c.is_decided,
    c.counted_as
from concerned as c
where c.counted_as is not null or c.call_id in (select call_id from paired_views)
union
select
    v.call_id,
    null as observer,
    null as response_id,
    false as is_decided,
    v.counted_as
from call_views as v
where
    v.counted_as in (select counted_as from concerned)
    and v.call_id not in (select call_id from concerned);
