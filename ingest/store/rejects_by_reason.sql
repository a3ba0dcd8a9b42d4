-- Why records of a delivery were not taken.
select
    reason,
    count(*) as reject_count,
    arg_min(position, rowid) as first_position
from rejects
where delivery_id = $delivery_id
group by reason
order by reject_count desc, reason asc
limit 10;
