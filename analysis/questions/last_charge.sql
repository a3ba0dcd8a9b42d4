-- name: last_charge
-- question: Which is the last quarter-hour in which a call was charged?
-- grain: the ledger
-- unit: quarter-hours since 1970
-- params: none
-- nulls: null where nothing is charged
-- identity: no charge is later
select max(quarter) as last_quarter
from charges
