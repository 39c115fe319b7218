-- Finds answers whose job was lost. Apart from 0004, because it reads all calls.
create index calls_channel_delivery_idx on webhook.calls (finished_at)
  where channel_delivery = 'pending' and status = 'succeeded';
