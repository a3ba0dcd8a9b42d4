-- Records that could not be taken, of deliveries before $before.
delete from rejects
where delivery_id not in (
    select delivery_id from deliveries
    where delivered_at >= $before
);
