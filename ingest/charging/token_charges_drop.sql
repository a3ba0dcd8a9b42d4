-- The prices of the configuration changed: every call that is priced by the token is priced anew.
delete from token_charges;

delete from plan_months;

update charge_partitions
set is_stale = true
where pool is null;
