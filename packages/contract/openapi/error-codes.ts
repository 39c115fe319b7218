import { statusOf, type ErrorCode } from '@gatehouse/kit/errors';
import type { OAuthErrorCode } from '../src/oauth.ts';
import { takesSession } from '../src/route.ts';
import type { Route } from '../src/routes.ts';

type When = (route: Route) => boolean;

const always: When = () => true;
/** Codes between services, of the relay, or never sent to a client. */
const never: When = () => false;
const at =
  (...ids: string[]): When =>
  ({ id }) =>
    ids.includes(id);
const either =
  (...conditions: When[]): When =>
  (route) =>
    conditions.some((condition) => condition(route));

const isSigned: When = ({ access }) => access.kind === 'signed';
const needsKey: When = ({ access }) => !['public', 'signed', 'session'].includes(access.kind);
const logsIn: When = at('login.key');
const needsScope: When = ({ access }) =>
  access.kind === 'scope' ||
  (access.kind === 'ticket' && access.scope !== undefined) ||
  (access.kind === 'admin' && access.orSelf !== undefined);
const isOwnerRoute: When = ({ access }) => access.kind === 'owner';
const isTenantKeyRoute: When = ({ access }) => access.kind === 'key' && access.ofTenant === true;
const notConfirmed: When = ({ access }) => access.kind === 'key' && access.notConfirmed === true;
const isAdminRoute: When = ({ access }) => access.kind === 'admin';
const takesBody: When = ({ bodyLimit }) => bodyLimit > 0;
const takesQuery: When = ({ query }) => query !== undefined;
const takesActingUser: When = ({ actingUser }) => actingUser;
const needsActingUser: When = (route) => route.needsActingUser === true;
const takesIdempotencyKey: When = ({ idempotencyKey }) => idempotencyKey;
const takesCursor: When = ({ query }) => query !== undefined && 'cursor' in query.shape;
const namesResource: When = ({ path }) => path.includes('{');
const isModelRoute: When = ({ id }) => /(^|\.)models\./.test(id);
const namesModel: When = (route) => callsProvider(route) || (isModelRoute(route) && namesResource(route));
/** Its key may stand in several places. */
const listsModels: When = (route) => isModelRoute(route) && !namesResource(route);
const namesResourceOfOurs: When = (route) => namesResource(route) && !namesModel(route);
const callsProvider: When = ({ passThrough, id }) => passThrough || id === 'webhooks.llm';
/** Also where a provider has the file or the batch. */
const reachesProvider: When = either(
  callsProvider,
  at('files.create', 'files.content', 'batches.create', 'batches.cancel'),
  at('messages.batches.create', 'messages.batches.results', 'messages.batches.cancel'),
);
const startsBatch: When = at('batches.create', 'messages.batches.create');
const runs: When = either((route) => callsProvider(route) && route.counts !== true, startsBatch);
/** Routes with names of stored responses in their requests. */
const goesOn: When = either(
  at('responses.create', 'responses.compact', 'responses.input_tokens'),
  at('azure.responses', 'azure.v1.responses'),
);
const writesMemory: When = ({ access }) => access.kind === 'scope' && access.scope === 'memory.write';
const writesGraph: When = (route) => writesMemory(route) && route.id.startsWith('kg.') && takesBody(route);
const writesGuardrail: When = at(
  'guardrails.create',
  'guardrails.patch',
  'owner.guardrails.create',
  'owner.guardrails.patch',
);
const makesWebhook: When = at(
  'webhooks.endpoints.create',
  'webhooks.subscriptions.create',
  'owner.webhook-subscriptions.create',
  'channels.instances.create',
);
const namesUrl: When = either(
  makesWebhook,
  at(
    'webhooks.endpoints.patch',
    'webhooks.subscriptions.patch',
    'owner.webhook-subscriptions.patch',
    'channels.instances.patch',
    'mcp.servers.create',
    'mcp.servers.patch',
  ),
);
const servedBehindEdge: When = ({ service }) => service !== 'edge';

/** The routes of each code. A new code does not compile without an entry. */
const when: Record<ErrorCode, When> = {
  invalid_json: takesBody,
  invalid_type: either(takesBody, takesQuery),
  invalid_value: servedBehindEdge,
  missing_required_parameter: takesBody,
  unknown_parameter: (route) => servedBehindEdge(route) && !isModelRoute(route),
  invalid_cursor: either(takesCursor, listsModels),
  cursor_expired: at('traces.follow'),
  cursor_mismatch: at('traces.follow'),
  acting_user_required: either(
    isTenantKeyRoute,
    at('agents.create', 'agents.patch', 'mcp.servers.consent-links.create', 'runs.stop'),
    needsActingUser,
    writesMemory,
    runs,
  ),
  dependency_missing: at('transfers.previews.create', 'transfers.previews.accept', 'transfers.create'),
  embeddings_not_configured: at('memory.search'),
  relay_path_ambiguous: never,
  unknown_model: at(
    'agents.create',
    'agents.patch',
    'provider-keys.create',
    'guardrails.create',
    'guardrails.patch',
  ),
  unknown_mcp_server: at('agents.create', 'agents.patch'),
  transport_not_allowed: at('mcp.servers.create', 'mcp.servers.patch'),
  url_not_allowed: either(namesUrl, writesGuardrail, at('webhooks.llm')),
  invalid_pattern: either(writesGuardrail, at('guardrails.test')),
  pattern_unbounded: either(writesGuardrail, at('guardrails.test')),
  provider_bad_request: reachesProvider,
  conflicting_credentials: either(needsKey, takesSession),
  content_blocked: either(callsProvider, at('files.create', 'messages.batches.create')),
  guardrail_too_slow: either(startsBatch, at('files.create')),
  unsupported_parameter: either(callsProvider, at('files.create', 'messages.batches.create')),
  previous_response_not_found: goesOn,
  item_not_found: goesOn,
  invalid_encrypted_content: goesOn,
  invalid_api_key: needsKey,
  invalid_session: takesSession,
  service_unauthenticated: never,
  signature_invalid: isSigned,
  agent_disabled: either(callsProvider, at('kg.extract')),
  forbidden_by_policy: runs,
  limit_reached: either(
    at(
      'policies.create',
      'policies.patch',
      'policies.overrides.put',
      'owner.policies.create',
      'owner.policies.patch',
      'owner.policies.overrides.put',
      'provider-keys.create',
      'files.create',
      'batches.create',
      'messages.batches.create',
      'memory.documents.put',
      'memory.import',
      'webhooks.llm',
      'webhooks.message',
      'webhooks.calls.redeliver',
      'browser.cookies.sync',
      'mcp.servers.create',
      'mcp.servers.tools.accept',
      'toolsets.create',
      'transfers.create',
      'users.put',
      'runs.stop',
    ),
    writesGraph,
    writesGuardrail,
    makesWebhook,
  ),
  role_missing: either(
    isOwnerRoute,
    isTenantKeyRoute,
    notConfirmed,
    isAdminRoute,
    at('transfers.previews.create', 'transfers.previews.accept', 'transfers.create'),
  ),
  run_stopped: either(runs, at('kg.extract')),
  scope_missing: either(
    needsScope,
    at('owner.api-keys.create', 'me.api-keys.create', 'me.api-keys.rotate', 'limits.get'),
  ),
  tenant_suspended: (route) =>
    (needsKey(route) || isSigned(route) || takesSession(route)) && !isOwnerRoute(route),
  user_blocked: either(needsKey, takesSession, at('webhooks.llm')),
  user_mismatch: either(
    takesActingUser,
    isAdminRoute,
    at('api-keys.create', 'api-keys.patch', 'api-keys.rotate', 'provider-keys.create'),
  ),
  user_unknown: either(runs, at('webhooks.llm')),
  caller_not_allowed: never,
  cross_site_request: either(takesSession, logsIn),
  model_unpriced: runs,
  not_accepted: at('transfers.create'),
  relay_forbidden: never,
  content_not_stored: at('traces.content'),
  model_not_found: either(namesModel, startsBatch, at('files.create', 'transfers.create')),
  not_found: either(
    namesResourceOfOurs,
    at('browser.cookies.sync', 'transfers.previews.create', 'transfers.create', 'runs.stop'),
    at('guardrails.test'),
  ),
  provider_not_found: reachesProvider,
  route_not_found: namesResource,
  method_not_allowed: always,
  request_timeout: always,
  agent_key_taken: at('agents.create', 'agents.patch', 'transfers.create'),
  idempotency_in_progress: takesIdempotencyKey,
  idempotency_key_reused: either(takesIdempotencyKey, at('webhooks.llm')),
  key_managed_by_login: at('api-keys.patch'),
  key_revoked: at('api-keys.rotate', 'me.api-keys.create', 'me.api-keys.rotate'),
  last_owner_key: at('owner.api-keys.revoke'),
  lease_superseded: never,
  mcp_name_taken: at('mcp.servers.create', 'mcp.servers.patch', 'transfers.create'),
  preview_expired: at('transfers.previews.accept', 'transfers.create'),
  preview_stale: at('transfers.previews.accept', 'transfers.create'),
  preview_used: at('transfers.previews.accept', 'transfers.create'),
  secret_unreadable: never,
  nothing_to_deliver: at('webhooks.calls.redeliver'),
  resource_locked: either(
    callsProvider,
    writesMemory,
    at('agents.patch', 'agents.delete', 'mcp.servers.patch', 'mcp.servers.delete', 'transfers.create'),
    at('mcp.servers.tools.accept'),
    at('channels.instances.patch', 'channels.instances.delete', 'webhooks.endpoints.patch'),
    at('webhooks.endpoints.delete', 'webhooks.endpoints.rotate-secret', 'webhooks.calls.redeliver'),
  ),
  run_not_repeatable: at('webhooks.llm'),
  user_name_taken: at('users.put'),
  policy_name_taken: at('policies.create', 'policies.patch', 'owner.policies.create', 'owner.policies.patch'),
  guardrail_name_taken: writesGuardrail,
  toolset_name_taken: at('toolsets.create', 'toolsets.patch'),
  tenant_slug_taken: at('owner.tenants.create', 'owner.tenants.patch'),
  payload_too_large: either(takesBody, reachesProvider),
  unsupported_media_type: takesBody,
  mcp_unreachable: at('mcp.servers.create', 'mcp.servers.refresh', 'mcp.servers.consent-links.create'),
  template_failed: at('webhooks.llm'),
  provider_unprocessable: reachesProvider,
  // On every path, for any request for a WebSocket.
  upgrade_required: never,
  insufficient_quota: runs,
  too_many_counters: runs,
  provider_rate_limited: reachesProvider,
  rate_limit_exceeded: either(
    callsProvider,
    takesBody,
    at('usage.summary', 'costs.summary', 'users.data.delete', 'memory.export', 'channels.zalo-oa.consent'),
    at('files.content', 'batches.cancel', 'costs.export'),
    at('messages.batches.results', 'messages.batches.cancel'),
    // Each calls another server.
    at('mcp.servers.refresh', 'webhooks.calls.redeliver', 'webhooks.subscriptions.test'),
    at('owner.webhook-subscriptions.test'),
  ),
  client_closed_request: never,
  internal: always,
  bad_gateway: servedBehindEdge,
  extraction_failed: at('kg.extract'),
  provider_authentication: reachesProvider,
  provider_error: reachesProvider,
  provider_key_failing: reachesProvider,
  provider_overloaded: reachesProvider,
  provider_invalid_response: reachesProvider,
  provider_unreachable: reachesProvider,
  guardrail_unavailable: either(runs, at('files.create')),
  database_unavailable: servedBehindEdge,
  query_timeout: servedBehindEdge,
  service_unavailable: servedBehindEdge,
  provider_timeout: reachesProvider,
  service_timeout: servedBehindEdge,
};

/** Statuses returned by the HTTP server before routing, with the code `invalid_http`. */
const invalidHttp = [400, 431];

/** Codes of errors returned before the handler of a route, or instead of it. */
const beforeHandler: ReadonlySet<ErrorCode> = new Set([
  ...(['method_not_allowed', 'request_timeout', 'payload_too_large', 'unsupported_media_type'] as const),
  ...(['rate_limit_exceeded', 'internal', 'bad_gateway', 'service_unavailable', 'service_timeout'] as const),
]);

/** OAuth's codes at the statuses used by its handlers. */
const oauthStatuses: Readonly<Record<number, readonly OAuthErrorCode[]>> = {
  413: ['invalid_request'],
  415: ['invalid_request'],
  429: ['slow_down'],
  500: ['server_error'],
  503: ['temporarily_unavailable'],
};

/** The codes of a route, by status. */
export function errorsOf(route: Route): Map<number, string[]> {
  const { oauthErrors } = route;
  const known = (Object.keys(when) as ErrorCode[]).filter((code) => when[code](route));
  const codes = oauthErrors === undefined ? known : known.filter((code) => beforeHandler.has(code));
  const errors: Map<number, string[]> = Map.groupBy(codes, statusOf);
  const oauthCodes: typeof oauthStatuses =
    oauthErrors === undefined ? {} : { ...oauthStatuses, 400: oauthErrors };
  for (const [status, more] of Object.entries(oauthCodes))
    errors.set(Number(status), [...(errors.get(Number(status)) ?? []), ...more]);
  for (const status of invalidHttp) errors.set(status, [...(errors.get(status) ?? []), 'invalid_http']);
  return errors;
}
