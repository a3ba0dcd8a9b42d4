-- About how many calls are in service on each UTC day from $first_day to $last_day.
select
    coalesce(started_at, arrived_at) // 86400000000000 as day,
    count(*) as call_count
from call_rows
where
    coalesce(started_at, arrived_at) >= $first_day * 86400000000000
    and coalesce(started_at, arrived_at) < ($last_day + 1) * 86400000000000
group by day;
