-- The rates as configured take the place of those in the ledger.
delete from pools;

insert into pools by name
select * from arriving_rows;
