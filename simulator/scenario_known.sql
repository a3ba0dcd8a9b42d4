-- Whether the ledger has a scenario of this name.
select count(*) > 0 as is_known
from scenarios
where scenario = $scenario
