/**
 * The kind of data in a column:
 * - `personal`: names a person, or has what one wrote or did. A deletion of the user's data leaves none of it
 * - `secret`: sealed, and lives longer than a day, so a new key of the ring wraps it again
 * - `brief`: sealed, and expires within a day
 * - `neutral`: ids, times, amounts, settings of tenants and hashes of secrets
 */
export type ColumnClass = 'personal' | 'secret' | 'brief' | 'neutral';

/** The columns of a table by class, separated by blanks. */
type Table = Readonly<Partial<Record<ColumnClass, string>>>;

const rollup = `requests errors cancelled blocked input_tokens cached_input_tokens output_tokens reasoning_tokens tool_calls
  timed_requests duration_ms cost_pico unpriced_requests estimated_requests estimated_cost_pico own_key_requests
  own_key_cost_pico`;
const groups = 'tenant_id bucket agent_id model provider channel dialect client';

const outboxes = (...names: string[]): Record<string, Table> =>
  Object.fromEntries(
    names.flatMap((name) => [
      [name, { personal: 'entry', neutral: 'id partition tenant_id occurred_at' }],
      [`${name}_dead_letters`, { personal: 'entry', neutral: 'id tenant_id dead_at reason' }],
    ]),
  );
const deadLetters: Table = { personal: 'payload', neutral: 'id received_at origin reason' };
const idempotency: Table = { brief: 'response', neutral: 'id tenant_id key target fingerprint expires_at' };
const migrations: Table = { neutral: 'id name run_on checksum version' };
const takenDeletions: Table = {
  personal: 'user_id',
  neutral: 'deletion_id tenant_id requested_at_ms counts due_at received_at',
};
const minuteCounts: Table = { neutral: 'tenant_id kind minute count' };
const refusedAddresses: Table = { personal: 'address', neutral: 'minute requests' };
const transfers: Table = { neutral: 'id source_tenant_id target_tenant_id state created_at ended_at' };
const consents: Record<string, Table> = {
  consent_states: { brief: 'state verifier', neutral: 'state_sha256 tenant_id ticket_id' },
  consent_tickets: {
    ...{ personal: 'asked_by', brief: 'details' },
    neutral: 'id tenant_id subject_id ticket_sha256 used_at created_at expires_at',
  },
};

const tenant: Record<string, Table> = {
  ...outboxes('alert_outbox', 'audit_outbox'),
  ...{ dead_letters: deadLetters, idempotency_records: idempotency, migrations },
  refused_addresses: refusedAddresses,
  api_keys: {
    personal: 'name user_id iss sub',
    neutral: `id tenant_id key_id secret_sha256 previous_secret_sha256 previous_valid_until role scopes limits budget
      created_by created_at last_used_at expires_at revoked_at expiry_alert_for confirmed_by confirmed_secret_sha256
      is_own secret_used replaced_sha256 toolsets client_settings`,
  },
  audit_log: {
    personal: 'actor_user_id client_ip before after',
    neutral: 'id at action actor_key_id actor_role tenant_id resource_type resource_id request_id',
  },
  budget_spend: { neutral: 'tenant_id subject_id bucket cost published_percent' },
  changes: { neutral: 'xid at tenant_id key_id subject' },
  device_logins: {
    personal: 'client_ip network wide_network',
    neutral: `id device_sha256 user_sha256 client_id created_at expires_at polled_at decided_at session_id
      is_known`,
  },
  // Members of groups have the sides that gave their groups; names of groups are settings of a tenant.
  group_members: { neutral: 'group_id person_id tenant_id sources' },
  groups: { neutral: 'id tenant_id name folded external_id members created_at updated_at is_scim' },
  guardrails: {
    ...{ personal: 'selection definition', secret: 'secrets' },
    neutral: 'id tenant_id tenants name asks_outside enabled version created_at updated_at',
  },
  issuer_logouts: { personal: 'iss sub sid', neutral: 'id ended_at' },
  limit_holders: { neutral: 'id seen_at released_at' },
  limit_holds: { neutral: 'holder_id tenant_id subject_id resource window_start amount sequence spare' },
  limit_uses: {
    neutral: `tenant_id subject_id resource window_start used published_percent starts_at ends_at previous_window
      previous_ends_at`,
  },
  login_networks: { personal: 'network', neutral: 'last_login_at' },
  login_tickets: { neutral: 'ticket_sha256 key_id secret_sha256 expires_at' },
  logins: {
    ...{ personal: 'issuer iss sub sid', secret: 'id_token refresh_token', brief: 'user_info' },
    neutral: 'id choice_sha256 looked_at created_at expires_at look_at looks groups_read_at',
  },
  provider_key_checks: { neutral: 'tenant_id minute checks' },
  policies: {
    ...{ personal: 'selection', secret: 'counter_key' },
    neutral: `id tenant_id tenants name per limits budget alerts enforce enabled overridden counts_since created_at
      updated_at`,
  },
  policy_counters: {
    personal: 'value user_id',
    neutral: `tenant_id id policy_id api_key_id resource window_start window_end used published_percent
      removable_at session_budget`,
  },
  policy_overrides: {
    personal: 'value label note',
    neutral: 'policy_id tenant_id amounts until created_at updated_at',
  },
  provider_keys: {
    ...{ personal: 'user_id', secret: 'key' },
    neutral: 'id tenant_id provider prefix models failing created_at last_used_at',
  },
  sessions: {
    personal: 'name user_id',
    neutral: `id tenant_id token_sha256 key_id key_secret_sha256 role scopes created_at last_seen_at expires_at ends_at
      login_id opened_by`,
  },
  settlements: { neutral: 'id settled_at' },
  tenants: {
    neutral: `id slug name status limits budget allowed_models timezone retention_days previews_enabled
      previews_max_chars content_full memory_limits created_at updated_at user_keys_enabled user_keys_max user_keys_max_days
      budget_timezone acting_users scim_user_id`,
  },
  token_revocations: {
    ...{ personal: 'issuer iss sub', brief: 'refresh_token' },
    neutral: 'id login_id attempts next_at created_at',
  },
  transfer_previews: {
    neutral: `id source_tenant_id target_tenant_id request source target created_by by_owner accepted_at used_at
      created_at expires_at`,
  },
  transfer_resources: { neutral: 'resource_id transfer_id tenant_id' },
  transfers: {
    neutral: `id preview_id source_tenant_id target_tenant_id mode content phase phase_at error asked attempted_at
      created_at finished_at`,
  },
  used_tokens: { neutral: 'token_sha256 expires_at' },
  user_directories: { neutral: 'tenant_id users groups scim_users' },
  user_names: { personal: 'folded alias', neutral: 'tenant_id person_id' },
  users: {
    personal: 'user_id display_name display_folded emails external_id scim scim_email',
    neutral: 'id tenant_id source blocked_by is_blocked created_at updated_at last_seen_at',
  },
  user_deletion_services: { neutral: 'deletion_id tenant_id service counts attempted_at completed_at' },
  user_deletions: {
    personal: 'user_id',
    neutral: 'id tenant_id user_hash created_at requested_at completed_at parts',
  },
};

const agent: Record<string, Table> = {
  ...outboxes('alert_outbox', 'audit_outbox'),
  ...consents,
  ...{ idempotency_records: idempotency, migrations, minute_counts: minuteCounts, transfers },
  user_deletions: takenDeletions,
  refused_addresses: refusedAddresses,
  agents: {
    personal: 'owner_user_id',
    neutral: `id tenant_id key name description model model_fallbacks system_prompt parameters tools memory visibility
      status metadata locked_by closed arriving_in created_at updated_at`,
  },
  cookies: {
    personal: 'user_id name domain path partition_key',
    secret: 'value',
    neutral: `id tenant_id agent_id host_only secure http_only same_site expires_at kept_until source created_at
      updated_at place`,
  },
  mcp_logins: {
    ...{ personal: 'user_id tools accepted', secret: 'secrets' },
    neutral: `id tenant_id server_id connection_id expires_at refresh_due_at refresh_claim refresh_claimed_until lost_at
      tools_expire_at tools_revision created_at logged_in_at`,
  },
  toolsets: {
    neutral: `id tenant_id name description mcp_servers deny agents prefix visibility enabled created_at updated_at`,
  },
  mcp_servers: {
    secret: 'secrets',
    neutral: `id tenant_id name url transport auth client_issuer other_issuer tool_filter timeout_ms enabled status status_reason
      connection_id protocol_version tools tools_updated_at tools_expire_at trust accepted tools_revision failures retry_at locked_by
      arriving_in created_at updated_at`,
  },
};

const analytics: Record<string, Table> = {
  ...{ dead_letters: deadLetters, migrations },
  user_deletions: takenDeletions,
  folds: { neutral: 'id current_fold folded_to closed_at' },
  forgotten_users: {
    personal: 'pseudonym',
    neutral: 'tenant_id user_digest requested_at created_at pass_began_at last_trace usage_until',
  },
  grouped_usage: { personal: 'user_id session_id', neutral: `${groups} api_key_id groups_sha256 ${rollup}` },
  refused_batches: { neutral: 'id stored_at' },
  refused_requests: {
    personal: 'user_id session_id message',
    neutral: `id tenant_id refused_at code operation channel dialect client request_id trace_id api_key_id agent_id
      request_model guardrails`,
  },
  refused_usage: {
    personal: 'user_id',
    neutral: 'tenant_id bucket code model agent_id channel dialect client api_key_id is_day refused',
  },
  settled_days: { neutral: 'tenant_id day state hours cut cut_hours group_hours' },
  settled_usage: {
    personal: 'user_id session_id',
    neutral: `${groups} kind api_key_id groups_sha256 ${rollup} unpriced_models chunks users`,
  },
  traces: {
    personal: 'user_id session_id input_preview output_preview error_message',
    neutral: `id tenant_id change_transaction change_number changed_at status operation channel dialect client request_id
      trace_id span_id api_key_id agent_id request_model streamed started_at ended_at duration_ms
      time_to_first_token_ms provider model response_model input_tokens cached_input_tokens cache_write_tokens
      output_tokens reasoning_tokens tool_calls cost_pico priced usage_estimated error_type spans called
      unpriced_models corrected own_key fold groups guardrails`,
  },
  unpriced_models: { personal: 'user_id', neutral: `${groups} api_key_id unpriced_model` },
  usage: { personal: 'user_id session_id', neutral: `${groups} api_key_id ${rollup}` },
  usage_groups: { neutral: 'tenant_id groups_sha256 name folded' },
  usage_totals: { neutral: `${groups} ${rollup}` },
  usage_users: { neutral: `${groups} chunk users` },
  user_counters: { neutral: 'tenant_id taken' },
  users: { personal: 'user_id', neutral: 'tenant_id number' },
  watermarks: { neutral: 'source partition partitions watermark' },
};

const memory: Record<string, Table> = {
  ...outboxes('audit_outbox'),
  ...{ idempotency_records: idempotency, migrations },
  user_deletions: takenDeletions,
  agents: {
    neutral: `tenant_id agent_id analyser mixed tokeniser hidden replacing last_generation embedding_model embedding_job
      embedding_until created_at deleted_at locked_by`,
  },
  chunks: {
    personal: 'context text terms counts',
    neutral: 'tenant_id scope_id number document_id start_line end_line analyser length',
  },
  deleted_users: { neutral: 'tenant_id user_hash requested_at noted_at' },
  documents: {
    personal: 'path title metadata session_id text',
    neutral: `id tenant_id scope_id source_kind run_id bytes extra chunks replaced_by embedded_by created_at updated_at
      acted_at`,
  },
  embeddings: { personal: 'vector sketch', neutral: 'tenant_id scope_id number model' },
  entities: {
    personal: 'external_id name type name_key type_key description properties',
    neutral: 'id tenant_id graph_id size run_id created_at updated_at acted_at',
  },
  graphs: { personal: 'user_id', neutral: 'id tenant_id agent_id generation entities relations' },
  imports: { neutral: 'tenant_id agent_id generation state started_at alive_at' },
  postings: { personal: 'term entries', neutral: 'tenant_id scope_id block' },
  relations: {
    personal: 'type weight properties valid_from valid_to',
    neutral: 'id tenant_id graph_id source_id target_id size run_id created_at updated_at acted_at',
  },
  scopes: {
    personal: 'user_id',
    neutral: 'id tenant_id agent_id generation documents chunks bytes next_number tokens',
  },
  tenants: { neutral: 'tenant_id documents bytes entities relations' },
  transfers: {
    personal: 'progress',
    neutral: 'id source_tenant_id target_tenant_id state created_at ended_at',
  },
};

const chat: Record<string, Table> = {
  ...outboxes('alert_outbox', 'audit_outbox'),
  ...{ idempotency_records: idempotency, migrations, minute_counts: minuteCounts },
  user_deletions: takenDeletions,
  batches: {
    personal: 'user_id run',
    secret: 'content first_id',
    neutral: `id tenant_id user_digest api_key_id provider key_id own_key_id provider_batch_id input_file_id
      provider_file_id output_file_id error_file_id model upstream_model requests reserved_input_tokens
      reserved_tokens reserved_pico charges days created_at failing_since polls due_at lease_id ended_at expires_at
      forgotten request_digest price unmeasured api`,
  },
  completions: {
    ...{ personal: 'user_id', brief: 'answer' },
    neutral: 'tenant_id call_id claim_id instance_id fingerprint acted expires_at created_at',
  },
  files: {
    ...{ personal: 'user_id requests', secret: 'content' },
    neutral: `id tenant_id purpose provider key_id own_key_id provider_file_id created_at expires_at deleted_at tries
      due_at`,
  },
  forgotten_users: { neutral: 'tenant_id user_digest requested_at created_at' },
  instances: { neutral: 'id started_at heartbeat_at dead_at released_at log_taken_at' },
  interrupted_runs: { neutral: 'id tenant_id instance_id started_at charges cost_pico costs interrupted_at' },
  open_runs: {
    personal: 'run attempts',
    neutral: 'id tenant_id instance_id started_at charges forgotten',
  },
  outbox: {
    personal: 'data',
    neutral: 'id partition tenant_id run_id occurred_at started_at ended_at corrects',
  },
  outbox_dead_letters: { personal: 'entry', neutral: 'id tenant_id dead_at reason' },
  price_lists: { neutral: 'source list kept_at' },
  provider_reports: { neutral: 'instance_id reported_at report' },
  response_items: { neutral: 'response_id tenant_id item_key' },
  responses: {
    ...{ personal: 'user_id', secret: 'content' },
    neutral: 'id tenant_id previous_id provider bytes ready days created_at expires_at',
  },
  run_contents: {
    ...{ personal: 'user_id', secret: 'content' },
    neutral: 'id tenant_id bytes created_at expires_at',
  },
  run_costs: { neutral: 'id tenant_id holder_id charges cost_pico' },
  run_log: {
    personal: 'runs attempts endings',
    neutral:
      'instance_id sequence written_at published start_ids tenant_ids started_at charges end_ids publishes',
  },
  run_stops: {
    neutral: 'id tenant_id run_id selection digest sender_digest requests stopped_at hold_until expires_at',
  },
  seals: { personal: 'user_id', neutral: 'tenant_id digest maker bytes created_at expires_at' },
  settlements: { neutral: 'id tenant_id holder_id charges cost_pico' },
  thoughts: {
    ...{ personal: 'user_id', brief: 'content' },
    neutral: 'tenant_id call_id bytes created_at expires_at',
  },
};

const webhook: Record<string, Table> = {
  ...outboxes('audit_outbox'),
  ...consents,
  ...{ dead_letters: deadLetters, idempotency_records: idempotency, migrations, minute_counts: minuteCounts },
  user_deletions: takenDeletions,
  ...{ refused_addresses: refusedAddresses, transfers },
  call_keys: { neutral: 'endpoint_id kind digest tenant_id call_id expires_at' },
  calls: {
    personal: 'user_id session_id metadata error',
    secret: 'request result',
    neutral: `id tenant_id endpoint_id agent_id delivery_id body_sha256 mode status callback_url claimed_until claim_id
      hops deliver_to channel_delivery created_at finished_at expires_at`,
  },
  channel_instances: {
    secret: 'credentials previous_credentials access_token refresh_token',
    neutral: `id tenant_id type name agent_id enabled history_tokens replies config previous_credentials_expire_at
      previous_credentials_accepted_until refresh_due_at token_at refresh_claim refresh_claimed_until status
      status_reason paused_until locked_by closed created_at updated_at deleted_at`,
  },
  channel_message_keys: { neutral: 'instance_id key tenant_id message_id expires_at' },
  channel_messages: {
    personal: 'user_id sender_name external_id',
    secret: 'text',
    neutral: `id tenant_id instance_id conversation_id direction text_bytes has_attachment status turn_id run_id
      position hops attempts due_at sequence created_at expires_at`,
  },
  channel_turns: {
    ...{ personal: 'user_id', secret: 'request' },
    neutral: 'id tenant_id conversation_id agent_id has_attachment hops created_at',
  },
  conversations: {
    personal: 'external_id user_id',
    neutral: 'id tenant_id instance_id is_group refused_at last_message_at woken_at moved_to created_at',
  },
  deleted_users: { neutral: 'tenant_id user_hash requested_at noted_at' },
  deliveries: {
    personal: 'target',
    neutral: `id tenant_id call_id endpoint_id event_id subscription_id url status attempts due_at claimed_until
      created_at finished_at`,
  },
  delivery_attempts: { neutral: 'delivery_id number tenant_id at duration_ms status error' },
  delivery_rates: { neutral: 'endpoint_id tenant_id minute deliveries' },
  endpoints: {
    secret: 'secret previous_secret callback_secret previous_callback_secret',
    neutral: `id tenant_id name agent_id scheme template mode callback_url rate_limit_per_minute allowed_cidrs enabled
      header encoding prefix deliver_to
      previous_secret_expires_at previous_callback_secret_expires_at failing_since locked_by closed created_at
      updated_at deleted_at`,
  },
  event_marks: { neutral: 'tenant_id subject at' },
  events: { personal: 'body', neutral: 'id tenant_id type created_at' },
  subscriptions: {
    secret: 'secret previous_secret',
    neutral: `id tenant_id url event_types enabled previous_secret_expires_at failing_since last_delivery_at
      last_delivery_status created_at updated_at`,
  },
};

/** The columns of each service's schema. A migration that adds one names its class here. */
const columnsOf = { tenant, agent, analytics, memory, chat, webhook };
export type ServiceWithData = keyof typeof columnsOf;

/** The classes of the columns of a service, by `table.column`. */
export function classesOf(service: ServiceWithData): ReadonlyMap<string, ColumnClass> {
  const classes = new Map<string, ColumnClass>();
  for (const [table, columns] of Object.entries(columnsOf[service]))
    for (const [kind, names] of Object.entries(columns) as [ColumnClass, string][])
      for (const name of names.trim().split(/\s+/)) classes.set(`${table}.${name}`, kind);
  return classes;
}

/** The columns of a schema in its database, by `table.column`, with their types. Partitions count as their table. */
export const schemaColumns = `
  select relname || '.' || attname as name, format_type(atttypid, null) as type
  from pg_class join pg_attribute on attrelid = pg_class.oid
  where relnamespace = $1::text::regnamespace and relkind in ('r', 'p') and not relispartition
    and attnum > 0 and not attisdropped`;
