-- For the deletion of old dead letters.
create index dead_letters_received_at_idx on webhook.dead_letters (received_at);
