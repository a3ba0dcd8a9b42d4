-- name: span_count
-- question: How many spans does the ledger hold?
-- grain: the ledger
-- unit: spans
-- params: none
-- nulls: none
-- identity: none
select count(*) as span_count
from spans
