-- Records that could not be taken.
insert into rejects by name
select * from arriving;
