-- Old dead letters are deleted when another one arrives.
create index dead_letters_received_at_idx on tenant.dead_letters (received_at);
