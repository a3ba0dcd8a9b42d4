-- Cohorts that the delivery has not staged yet.
insert into staged_cohorts by name
select * from arriving;
