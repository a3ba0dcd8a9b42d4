-- The budgets as configured take the place of those in the ledger.
delete from budgets;

insert into budgets by name
select * from arriving_rows;
