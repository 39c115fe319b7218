-- Statements of a tenant's request run as chat_app, in turns by tenant, and see the rows of that tenant only.

create policy responses_app_select on chat.responses for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy responses_app_insert on chat.responses for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy responses_app_delete on chat.responses for delete to chat_app
  using (tenant_id = chat.current_tenant());
grant select, insert, delete on chat.responses to chat_app;

create policy response_items_app_select on chat.response_items for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy response_items_app_insert on chat.response_items for insert to chat_app
  with check (tenant_id = chat.current_tenant());
grant select, insert on chat.response_items to chat_app;

create policy thoughts_app_select on chat.thoughts for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy thoughts_app_insert on chat.thoughts for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy thoughts_app_update on chat.thoughts for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
grant select, insert on chat.thoughts to chat_app;
grant update (user_id, content, bytes, created_at, expires_at) on chat.thoughts to chat_app;

create policy seals_app_select on chat.seals for select to chat_app
  using (tenant_id = chat.current_tenant());
grant select on chat.seals to chat_app;

create policy completions_app_select on chat.completions for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy completions_app_insert on chat.completions for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy completions_app_update on chat.completions for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy completions_app_delete on chat.completions for delete to chat_app
  using (tenant_id = chat.current_tenant());
grant select, insert, delete on chat.completions to chat_app;
grant update on chat.completions to chat_app;

create policy files_app_select on chat.files for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy files_app_insert on chat.files for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy files_app_update on chat.files for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy files_app_delete on chat.files for delete to chat_app
  using (tenant_id = chat.current_tenant());
grant select, insert, delete on chat.files to chat_app;
grant update (provider_file_id, requests, content, deleted_at, due_at) on chat.files to chat_app;

create policy batches_app_select on chat.batches for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy batches_app_insert on chat.batches for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy batches_app_update on chat.batches for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy batches_app_delete on chat.batches for delete to chat_app
  using (tenant_id = chat.current_tenant());
grant select, insert, delete on chat.batches to chat_app;
grant update (provider_batch_id, content, failing_since, polls, due_at, lease_id, expires_at) on chat.batches to chat_app;

create policy run_costs_app_insert on chat.run_costs for insert to chat_app
  with check (tenant_id = chat.current_tenant());
grant insert on chat.run_costs to chat_app;

create policy outbox_app_insert on chat.outbox for insert to chat_app
  with check (tenant_id = chat.current_tenant());
grant insert on chat.outbox to chat_app;

create policy idempotency_records_app_select on chat.idempotency_records for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy idempotency_records_app_insert on chat.idempotency_records for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy idempotency_records_app_update on chat.idempotency_records for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
create policy idempotency_records_app_delete on chat.idempotency_records for delete to chat_app
  using (tenant_id = chat.current_tenant());
grant select, insert, delete on chat.idempotency_records to chat_app;
grant update (id, fingerprint, response, expires_at) on chat.idempotency_records to chat_app;

create policy minute_counts_app_select on chat.minute_counts for select to chat_app
  using (tenant_id = chat.current_tenant());
create policy minute_counts_app_insert on chat.minute_counts for insert to chat_app
  with check (tenant_id = chat.current_tenant());
create policy minute_counts_app_update on chat.minute_counts for update to chat_app
  using (tenant_id = chat.current_tenant()) with check (tenant_id = chat.current_tenant());
grant select, insert on chat.minute_counts to chat_app;
grant update (minute, count) on chat.minute_counts to chat_app;

create policy forgotten_users_app_select on chat.forgotten_users for select to chat_app
  using (tenant_id = chat.current_tenant());
grant select on chat.forgotten_users to chat_app;

-- A repeated call of Complete takes over from a dead replica.
create policy instances_app_select on chat.instances for select to chat_app using (true);
grant select (id, dead_at) on chat.instances to chat_app;

