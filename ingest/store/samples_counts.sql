-- What became of the staged samples: records read, those that are new, records of another value.
select
    coalesce(sum(staged_count), 0) as read_count,
    count(*) filter (where is_new) as new_count,
    coalesce(sum(
        greatest(value_count - 1, 0)
        + case when not is_new and previous_value is not null and is_other then 1 else 0 end
    ), 0) as conflict_count
from sample_winners;
