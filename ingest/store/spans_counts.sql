-- What became of the staged spans: records read, spans that are new, records of other content.
select
    coalesce(sum(staged_count), 0) as read_count,
    count(*) filter (where row_no is null) as new_count,
    coalesce(sum(conflict_count), 0) as conflict_count
from span_winners;
