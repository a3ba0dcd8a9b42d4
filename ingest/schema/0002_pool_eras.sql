-- The ledger, version 2: a model may move from one pool to another.
--
-- One combination of what calls have in common has one cohort for each stretch of time in which
-- its calls begin in one pool. The stretches of a combination cover all time without overlap, so
-- each call is in the one that holds its first instant. `cohorts.digest` is of the columns of the
-- combination: not of `pool`, nor of these two.
alter table cohorts add column pool_from bigint default 0;      -- 0: since ever
alter table cohorts alter column pool_from set not null;
alter table cohorts add column pool_until bigint;               -- null: until further notice

-- What the configuration says of pools is to be applied anew.
delete from ledger_facts
where name = 'charging_configuration';
