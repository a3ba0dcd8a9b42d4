-- The passes of a scenario in order, with what was seen of each.
select
    arm,
    pass_no,
    started_at,
    ended_at,
    result
from replays
where scenario = $scenario
order by pass_no
