-- For the deletion of a user's data, which looks for the tickets of one tenant.
create index consent_tickets_tenant_id_idx on agent.consent_tickets (tenant_id);
