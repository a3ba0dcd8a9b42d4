-- Deliveries before $before whose records are gone. The latest stays: the next number follows it.
delete from deliveries
where
    delivered_at < $before
    and delivery_id < (select max(delivery_id) from deliveries)
    and delivery_id not in (select delivery_id from rejects)
    and delivery_id not in (select delivery_id from spans);
