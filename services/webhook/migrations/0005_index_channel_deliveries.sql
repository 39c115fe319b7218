-- Apart from 0004, because both read all calls. This one first: it lets calls be written meanwhile.
alter table webhook.calls validate constraint calls_channel_delivery_check;
-- Finds answers whose job was lost, tenant by tenant.
create index calls_channel_delivery_idx on webhook.calls (tenant_id, finished_at)
  where channel_delivery = 'pending' and status = 'succeeded';
