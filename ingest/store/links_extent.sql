-- From when to when calls changed, whose links are to be decided anew; null where none did.
select
    min(begun_at) as begun_at,
    max(ended_at) as ended_at
from changed_calls;
