-- What became of the staged samples: records read, those that are new, records of another value.
select
    coalesce(sum(staged_count), 0) as read_count,
    count(*) filter (where is_new) as new_count,
    coalesce(sum(conflict_count), 0) as conflict_count
from sample_winners;
