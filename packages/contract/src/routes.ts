import * as agents from './agents.ts';
import * as audit from './audit.ts';
import * as azure from './azure.ts';
import * as batches from './batches.ts';
import * as channelConsents from './channel-consents.ts';
import * as channelInstances from './channel-instances.ts';
import * as channelMessages from './channel-messages.ts';
import * as chat from './chat.ts';
import { consoleRoutes } from './console.ts';
import * as cookies from './cookies.ts';
import * as deviceLogins from './device-logins.ts';
import * as files from './files.ts';
import * as gemini from './gemini.ts';
import * as graph from './graph.ts';
import * as guardrails from './guardrails.ts';
import * as guardrailTests from './guardrail-tests.ts';
import * as health from './health.ts';
import * as keys from './keys.ts';
import * as limits from './limits.ts';
import * as loginLinks from './login-links.ts';
import * as mcpLogins from './mcp-logins.ts';
import * as mcpServers from './mcp-servers.ts';
import * as memory from './memory.ts';
import * as messageBatches from './message-batches.ts';
import * as messages from './messages.ts';
import * as moderations from './moderations.ts';
import * as openai from './openai.ts';
import * as openapi from './openapi.ts';
import * as ownerApiKeys from './owner-api-keys.ts';
import * as ownerBudgets from './owner-budgets.ts';
import * as ownerModels from './owner-models.ts';
import * as ownerProviders from './owner-providers.ts';
import * as ownerSystem from './owner-system.ts';
import * as ownerUsage from './owner-usage.ts';
import { webRoutes } from './pages.ts';
import * as policies from './policies.ts';
import * as policyCounters from './policy-counters.ts';
import * as providerKeys from './provider-keys.ts';
import * as responses from './responses.ts';
import * as ownKeys from './personal-keys.ts';
import * as runStops from './run-stops.ts';
import { scimRoutes } from './scim.ts';
import * as sessions from './sessions.ts';
import * as tenants from './tenants.ts';
import * as toolsets from './toolsets.ts';
import * as traceContent from './trace-content.ts';
import * as traces from './traces.ts';
import * as transfers from './transfers.ts';
import * as usage from './usage.ts';
import * as users from './users.ts';
import * as webhookCalls from './webhook-calls.ts';
import * as webhookEndpoints from './webhook-endpoints.ts';
import * as webhookSubscriptions from './webhook-subscriptions.ts';
import type { Route } from './route.ts';

export type { Access, Route, RouteResponse } from './route.ts';
export type { ServiceName } from './services.ts';

/** The modules of the API. Each has the routes of one resource, with their shapes and examples. */
export const resources = [
  health,
  openapi,
  openai,
  moderations,
  messages,
  messageBatches,
  responses,
  gemini,
  chat,
  azure,
  files,
  batches,
  agents,
  mcpServers,
  mcpLogins,
  toolsets,
  cookies,
  memory,
  graph,
  traces,
  traceContent,
  runStops,
  usage,
  keys,
  ownKeys,
  sessions,
  deviceLogins,
  guardrails,
  guardrailTests,
  policies,
  policyCounters,
  providerKeys,
  users,
  limits,
  webhookEndpoints,
  webhookCalls,
  webhookSubscriptions,
  channelInstances,
  channelMessages,
  channelConsents,
  ownerApiKeys,
  ownerBudgets,
  ownerModels,
  ownerProviders,
  ownerSystem,
  ownerUsage,
  audit,
  tenants,
  transfers,
];

/** The API described by `GET /openapi.json`. */
export const apiRoutes: readonly Route[] = resources.flatMap((resource) => resource.routes);

/**
 * All paths of the gateway: the edge routes requests by this table, and services validate by it. No other path can be
 * reached.
 */
export const routes: readonly Route[] = [
  ...apiRoutes,
  ...channelConsents.pageRoutes,
  ...mcpServers.pageRoutes,
  ...sessions.pageRoutes,
  ...deviceLogins.pageRoutes,
  ...loginLinks.pageRoutes,
  ...scimRoutes,
  ...consoleRoutes,
  ...webRoutes,
];
