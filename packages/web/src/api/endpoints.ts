import type { Agent, CreateAgent, PatchAgent } from '@gatehouse/contract/agents';
import type { AuditEntry } from '@gatehouse/contract/audit';
import type { batch } from '@gatehouse/contract/batches';
import type { modelList } from '@gatehouse/contract/chat';
import type { zaloConsentLink } from '@gatehouse/contract/channel-consents';
import type {
  ChannelInstance,
  channelInstanceWithSecret,
  createChannelInstance,
  PatchChannelInstance,
} from '@gatehouse/contract/channel-instances';
import type { ChannelMessage, Conversation } from '@gatehouse/contract/channel-messages';
import type { BrowserCookie } from '@gatehouse/contract/cookies';
import type { deletedFile, file } from '@gatehouse/contract/files';
import type {
  ApiKey,
  CreateApiKey,
  createOwnerApiKey,
  PatchApiKey,
  ownerApiKey,
  ownerApiKeyWithText,
  whoami,
} from '@gatehouse/contract/keys';
import type {
  Entity,
  extractedGraph,
  Subgraph,
  traverseGraph,
  upsertEntities,
  upsertedEntities,
  upsertedRelations,
  upsertRelations,
} from '@gatehouse/contract/graph';
import type { testGuardrails, TestedGuardrails } from '@gatehouse/contract/guardrail-tests';
import type {
  createGuardrail,
  createOwnerGuardrail,
  Guardrail,
  OwnerGuardrail,
  patchGuardrail,
  patchOwnerGuardrail,
} from '@gatehouse/contract/guardrails';
import type { LimitList } from '@gatehouse/contract/limits';
import type { McpLogin } from '@gatehouse/contract/mcp-logins';
import type {
  createMcpServer,
  mcpConsentLink,
  PatchMcpServer,
  WireMcpServer,
} from '@gatehouse/contract/mcp-servers';
import type { deletedMessageBatch, messageBatch } from '@gatehouse/contract/message-batches';
import type {
  Document,
  DocumentWithText,
  Forget,
  MemoryCounts,
  MemoryStats,
  PutDocument,
  searchMemory,
  SearchResult,
} from '@gatehouse/contract/memory';
import type { CreatePersonalKey, PersonalKey, MemberSession } from '@gatehouse/contract/personal-keys';
import type { budgetList } from '@gatehouse/contract/owner-budgets';
import type { OwnerPolicyCounter, PolicyCounter } from '@gatehouse/contract/policy-counters';
import type {
  createOwnerPolicy,
  createPolicy,
  OwnerPolicy,
  PatchOwnerPolicy,
  PatchPolicy,
  Policy,
  PolicyOverride,
  putPolicyOverride,
  ResetPolicy,
} from '@gatehouse/contract/policies';
import type { CreateProviderKey, ProviderKey } from '@gatehouse/contract/provider-keys';
import type { OwnerModel } from '@gatehouse/contract/owner-models';
import type { ProviderDeployment } from '@gatehouse/contract/owner-providers';
import type { SystemState } from '@gatehouse/contract/owner-system';
import type { StopRuns, stoppedRuns } from '@gatehouse/contract/run-stops';
import type { CurrentSession, Session } from '@gatehouse/contract/sessions';
import type {
  createTenant,
  AdminTenantSettings,
  PatchOwnSettings,
  PatchTenant,
  Tenant,
} from '@gatehouse/contract/tenants';
import type { createToolset, PatchToolset, ToolsetTool, WireToolset } from '@gatehouse/contract/toolsets';
import type { TraceContent } from '@gatehouse/contract/trace-content';
import type { Trace, tracePage } from '@gatehouse/contract/traces';
import type { createPreview, TransferPreview, WireTransfer } from '@gatehouse/contract/transfers';
import type {
  CostSummary,
  ownerCostSummary,
  ownerUsageSummary,
  UsageSummary,
} from '@gatehouse/contract/usage';
import type { Group, PutUser, User, UserDataDeletion } from '@gatehouse/contract/users';
import type { WebhookCall, WebhookCallWithResult, WebhookDelivery } from '@gatehouse/contract/webhook-calls';
import type {
  createWebhookEndpoint,
  PatchWebhookEndpoint,
  WebhookEndpoint,
  webhookEndpointWithSecret,
  webhookEndpointWithSecrets,
} from '@gatehouse/contract/webhook-endpoints';
import type { WebhookSubscription } from '@gatehouse/contract/webhook-subscriptions';
import type { z } from 'zod';

/** Query parameters, as text: the API checks them. */
type Query<Name extends string> = Partial<Record<Name, string>>;

/** A page of a list. */
export interface List<Item> {
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
}

type Paged = 'limit' | 'cursor';

/** Parameters with the runs of a summary and of an export: the period and its groups. */
type Selected = 'from' | 'to' | 'timezone' | 'group_by';

/** Filters of runs, also in summaries. */
type RunFilter = 'model' | 'provider' | 'channel' | 'dialect' | 'agent_id' | 'api_key_id' | 'user_id';

/** Filters of lists of runs alone. */
type ListFilter = 'session_id' | 'status' | 'error_code' | 'min_cost_usd' | 'min_duration_ms';

/** Filters of runs of all tenants. */
type OwnerFilter = 'tenant_id' | 'model' | 'provider' | 'channel';

/** A list in the shape of OpenAI's API. */
interface ObjectList<Item> {
  data: Item[];
  has_more: boolean;
}

/** The API checks the types of events, which differ for tenants and the owner. */
interface NewSubscription {
  url: string;
  event_types: string[];
}
type PatchSubscription = Partial<
  NewSubscription & { enabled: boolean; secret: string; overlap_seconds: number }
>;
type CreatedSubscription = WebhookSubscription & { secret: string };
type EndpointSecret = z.output<typeof webhookEndpointWithSecret>;

/** The API as far as the pages use it. The types are those of the API's own contract; a test compares the names. */
export interface Endpoints {
  'GET /v1/session': { answer: CurrentSession };
  'GET /v1/whoami': { answer: z.output<typeof whoami> };
  'GET /v1/limits': { answer: LimitList };
  'GET /v1/models': { answer: z.output<typeof modelList> };
  'GET /v1/usage/summary': { query: Query<Selected | RunFilter | 'group'>; answer: UsageSummary };
  'GET /v1/costs/summary': { query: Query<Selected>; answer: CostSummary };
  'GET /v1/costs/export': { query: Query<Selected | 'format'>; answer: Blob };
  'GET /v1/traces/follow': {
    query: Query<Paged | 'since' | 'agent_id' | 'session_id' | 'user_id' | 'status' | 'channel'>;
    answer: z.output<typeof tracePage>;
  };
  'GET /v1/traces': {
    query: Query<Paged | 'from' | 'to' | 'q' | 'sort' | RunFilter | ListFilter>;
    answer: List<Trace>;
  };
  'GET /v1/traces/{id}': { answer: Trace };
  'GET /v1/traces/{id}/content': { answer: TraceContent };
  'POST /v1/runs/stop': { body: Partial<StopRuns>; answer: z.output<typeof stoppedRuns> };
  'GET /v1/agents': { query: Query<Paged | 'status' | 'q'>; answer: List<Agent> };
  'POST /v1/agents': { body: Partial<CreateAgent>; answer: Agent };
  'GET /v1/agents/{agentID}': { answer: Agent };
  'PATCH /v1/agents/{agentID}': { body: PatchAgent; answer: Agent };
  'DELETE /v1/agents/{agentID}': { answer: undefined };
  'GET /v1/agents/{agentID}/memory/stats': { answer: MemoryStats };
  'GET /v1/agents/{agentID}/memory/export': { answer: Blob };
  'POST /v1/agents/{agentID}/memory/import': { body: Blob; answer: MemoryCounts };
  'POST /v1/agents/{agentID}/memory/forget': { body: Forget; answer: MemoryCounts };
  'GET /v1/agents/{agentID}/memory/documents': {
    query: Query<Paged | 'path_prefix'>;
    answer: List<Document>;
  };
  'GET /v1/agents/{agentID}/memory/documents/{path+}': { answer: DocumentWithText };
  'PUT /v1/agents/{agentID}/memory/documents/{path+}': { body: PutDocument; answer: Document };
  'DELETE /v1/agents/{agentID}/memory/documents/{path+}': { answer: undefined };
  'POST /v1/agents/{agentID}/memory/search': { body: z.input<typeof searchMemory>; answer: SearchResult };
  'GET /v1/agents/{agentID}/kg/entities': { query: Query<Paged | 'q' | 'type'>; answer: List<Entity> };
  'POST /v1/agents/{agentID}/kg/entities': {
    body: z.input<typeof upsertEntities>;
    answer: z.output<typeof upsertedEntities>;
  };
  'DELETE /v1/agents/{agentID}/kg/entities/{id}': { answer: undefined };
  'POST /v1/agents/{agentID}/kg/relations': {
    body: z.input<typeof upsertRelations>;
    answer: z.output<typeof upsertedRelations>;
  };
  'POST /v1/agents/{agentID}/kg/extract': {
    body: { text: string };
    answer: z.output<typeof extractedGraph>;
  };
  'POST /v1/agents/{agentID}/kg/traverse': { body: z.input<typeof traverseGraph>; answer: Subgraph };
  'GET /v1/api-keys': { query: Query<Paged | 'user_id'>; answer: List<ApiKey> };
  'POST /v1/api-keys': { body: CreateApiKey; answer: ApiKey & { key: string } };
  'PATCH /v1/api-keys/{id}': { body: PatchApiKey; answer: ApiKey };
  'POST /v1/api-keys/{id}/rotate': { body: { overlap_seconds: number }; answer: ApiKey & { key: string } };
  'POST /v1/api-keys/{id}/revoke': { body: object; answer: ApiKey };
  'GET /v1/provider-keys': { query: Query<Paged>; answer: List<ProviderKey> };
  'POST /v1/provider-keys': { body: CreateProviderKey; answer: ProviderKey };
  'DELETE /v1/provider-keys/{id}': { answer: undefined };
  'GET /v1/sessions': { query: Query<Paged>; answer: List<Session> };
  'DELETE /v1/sessions/{id}': { answer: undefined };
  'GET /v1/me/api-keys': { query: Query<Paged>; answer: List<PersonalKey> };
  'POST /v1/me/api-keys': { body: CreatePersonalKey; answer: PersonalKey & { key: string } };
  'POST /v1/me/api-keys/{id}/rotate': {
    body: { overlap_seconds: number };
    answer: PersonalKey & { key: string };
  };
  'POST /v1/me/api-keys/{id}/revoke': { body: object; answer: PersonalKey };
  'GET /v1/me/sessions': { query: Query<Paged>; answer: List<MemberSession> };
  'DELETE /v1/me/sessions/{id}': { answer: undefined };
  'GET /v1/tenant/settings': { answer: AdminTenantSettings };
  'PATCH /v1/tenant/settings': { body: PatchOwnSettings; answer: AdminTenantSettings };
  'GET /v1/audit-log': {
    query: Query<Paged | 'actor' | 'action' | 'from' | 'to'>;
    answer: List<AuditEntry>;
  };
  'GET /v1/browser/cookies': { query: Query<Paged | 'agent_id'>; answer: List<BrowserCookie> };
  'DELETE /v1/browser/cookies': { query: Query<'agent_id' | 'domain'>; answer: unknown };
  'GET /v1/mcp/logins': { query: Query<Paged>; answer: List<McpLogin> };
  'DELETE /v1/mcp/logins/{server_id}': { answer: undefined };
  'GET /v1/users': { query: Query<Paged | 'group' | 'status' | 'q'>; answer: List<User> };
  'PUT /v1/users/{user_id}': { body: PutUser; answer: User };
  'DELETE /v1/users/{user_id}': { answer: undefined };
  'GET /v1/groups': { query: Query<Paged>; answer: List<Group> };
  'DELETE /v1/users/{user_id}/data': { answer: UserDataDeletion };
  'GET /v1/users/{user_id}/data/deletions/{id}': { answer: UserDataDeletion };
  'GET /v1/guardrails': { query: Query<Paged>; answer: List<Guardrail> };
  'POST /v1/guardrails': { body: z.input<typeof createGuardrail>; answer: Guardrail };
  'POST /v1/guardrails/test': { body: z.input<typeof testGuardrails>; answer: TestedGuardrails };
  'PATCH /v1/guardrails/{guardrail}': { body: z.input<typeof patchGuardrail>; answer: Guardrail };
  'DELETE /v1/guardrails/{guardrail}': { answer: undefined };
  'GET /v1/policies': { query: Query<Paged>; answer: List<Policy> };
  'POST /v1/policies': { body: z.input<typeof createPolicy>; answer: Policy };
  'GET /v1/policies/{policy}': { answer: Policy };
  'PATCH /v1/policies/{policy}': { body: PatchPolicy; answer: Policy };
  'DELETE /v1/policies/{policy}': { answer: undefined };
  'GET /v1/policies/{policy}/counters': { query: Query<Paged | 'sort'>; answer: List<PolicyCounter> };
  'POST /v1/policies/{policy}/reset': { body: ResetPolicy; answer: Policy };
  'PUT /v1/policies/{policy}/overrides/{value}': {
    body: z.input<typeof putPolicyOverride>;
    answer: PolicyOverride;
  };
  'DELETE /v1/policies/{policy}/overrides/{value}': { answer: undefined };
  'GET /v1/webhooks/endpoints': { query: Query<Paged>; answer: List<WebhookEndpoint> };
  'POST /v1/webhooks/endpoints': {
    body: z.input<typeof createWebhookEndpoint>;
    answer: z.output<typeof webhookEndpointWithSecrets>;
  };
  'GET /v1/webhooks/endpoints/{id}': { answer: WebhookEndpoint };
  'PATCH /v1/webhooks/endpoints/{id}': { body: PatchWebhookEndpoint; answer: WebhookEndpoint };
  'DELETE /v1/webhooks/endpoints/{id}': { answer: undefined };
  'POST /v1/webhooks/endpoints/{id}/rotate-secret': {
    body: { secret: string; overlap_seconds: number };
    answer: EndpointSecret;
  };
  'GET /v1/webhooks/endpoints/{id}/calls': { query: Query<Paged>; answer: List<WebhookCall> };
  'GET /v1/webhooks/calls/{call_id}': { answer: WebhookCallWithResult };
  'POST /v1/webhooks/calls/{call_id}/redeliver': { body: object; answer: WebhookDelivery };
  'GET /v1/webhooks/subscriptions': { query: Query<Paged>; answer: List<WebhookSubscription> };
  'POST /v1/webhooks/subscriptions': { body: NewSubscription; answer: CreatedSubscription };
  'PATCH /v1/webhooks/subscriptions/{id}': { body: PatchSubscription; answer: WebhookSubscription };
  'DELETE /v1/webhooks/subscriptions/{id}': { answer: undefined };
  'POST /v1/webhooks/subscriptions/{id}/test': { body: object; answer: WebhookDelivery };
  'GET /v1/channels/instances': { query: Query<Paged | 'type'>; answer: List<ChannelInstance> };
  'POST /v1/channels/instances': {
    body: z.input<typeof createChannelInstance>;
    answer: z.output<typeof channelInstanceWithSecret>;
  };
  'GET /v1/channels/instances/{id}': { answer: ChannelInstance };
  'GET /v1/channels/instances/{id}/conversations': { query: Query<Paged>; answer: List<Conversation> };
  'GET /v1/channels/instances/{id}/conversations/{conversation_id}/messages': {
    query: Query<Paged>;
    answer: List<ChannelMessage>;
  };
  'PATCH /v1/channels/instances/{id}': { body: PatchChannelInstance; answer: ChannelInstance };
  'DELETE /v1/channels/instances/{id}': { answer: undefined };
  'POST /v1/channels/instances/{id}/zalo-oa/consent-links': { answer: z.output<typeof zaloConsentLink> };
  'GET /v1/mcp/servers': { query: Query<Paged>; answer: List<WireMcpServer> };
  'POST /v1/mcp/servers': { body: z.input<typeof createMcpServer>; answer: WireMcpServer };
  'PATCH /v1/mcp/servers/{id}': { body: PatchMcpServer; answer: WireMcpServer };
  'DELETE /v1/mcp/servers/{id}': { answer: undefined };
  'POST /v1/mcp/servers/{id}/refresh': { answer: WireMcpServer };
  'POST /v1/mcp/servers/{id}/tools/{name}/accept': { body: { digest: string }; answer: WireMcpServer };
  'POST /v1/mcp/servers/{id}/consent-links': { answer: z.output<typeof mcpConsentLink> };
  'GET /v1/toolsets': { query: Query<Paged>; answer: List<WireToolset> };
  'POST /v1/toolsets': { body: z.input<typeof createToolset>; answer: WireToolset };
  'PATCH /v1/toolsets/{toolset}': { body: PatchToolset; answer: WireToolset };
  'DELETE /v1/toolsets/{toolset}': { answer: undefined };
  'GET /v1/toolsets/{toolset}/tools': { query: Query<Paged | 'q'>; answer: List<ToolsetTool> };
  'GET /v1/files': { query: Query<'limit' | 'purpose'>; answer: ObjectList<z.output<typeof file>> };
  'POST /v1/files': { body: FormData; answer: z.output<typeof file> };
  'DELETE /v1/files/{file_id}': { answer: z.output<typeof deletedFile> };
  'GET /v1/files/{file_id}/content': { answer: Blob };
  'GET /v1/batches': { query: Query<'limit'>; answer: ObjectList<z.output<typeof batch>> };
  'POST /v1/batches': {
    body: { input_file_id: string; endpoint: string; completion_window: string };
    answer: z.output<typeof batch>;
  };
  'POST /v1/batches/{batch_id}/cancel': { answer: z.output<typeof batch> };
  'GET /v1/messages/batches': { query: Query<'limit'>; answer: ObjectList<z.output<typeof messageBatch>> };
  'POST /v1/messages/batches/{message_batch_id}/cancel': { answer: z.output<typeof messageBatch> };
  'DELETE /v1/messages/batches/{message_batch_id}': { answer: z.output<typeof deletedMessageBatch> };
  'GET /v1/messages/batches/{message_batch_id}/results': { answer: Blob };
  'POST /v1/tenant/resource-transfers/previews': {
    body: z.input<typeof createPreview>;
    answer: TransferPreview;
  };
  'GET /v1/tenant/resource-transfers/previews/{id}': { answer: TransferPreview };
  'POST /v1/tenant/resource-transfers/previews/{id}/accept': { answer: TransferPreview };
  'POST /v1/tenant/resource-transfers': { body: { preview_id: string }; answer: WireTransfer };
  'GET /v1/tenant/resource-transfers': { query: Query<Paged>; answer: List<WireTransfer> };
  'GET /internal/v1/owner/usage/summary': {
    query: Query<Selected | OwnerFilter>;
    answer: z.output<typeof ownerUsageSummary>;
  };
  'GET /internal/v1/owner/costs/summary': {
    query: Query<Selected | OwnerFilter>;
    answer: z.output<typeof ownerCostSummary>;
  };
  'GET /internal/v1/owner/costs/export': { query: Query<Selected | OwnerFilter | 'format'>; answer: Blob };
  'GET /internal/v1/owner/budgets': {
    query: Query<'limit' | 'tenant_id'>;
    answer: z.output<typeof budgetList>;
  };
  'GET /internal/v1/owner/tenants': { query: Query<Paged | 'status' | 'q'>; answer: List<Tenant> };
  'POST /internal/v1/owner/tenants': {
    body: z.input<typeof createTenant>;
    answer: Tenant & { admin_key: string };
  };
  'PATCH /internal/v1/owner/tenants/{id}': { body: PatchTenant; answer: Tenant };
  'GET /internal/v1/owner/models': { answer: { data: OwnerModel[]; has_more?: true } };
  'GET /internal/v1/owner/system': { answer: SystemState };
  'GET /internal/v1/owner/providers': { answer: { data: ProviderDeployment[]; has_more?: true } };
  'GET /internal/v1/owner/api-keys': {
    query: Query<Paged | 'role' | 'status' | 'tenant_id' | 'unused_since'>;
    answer: List<z.output<typeof ownerApiKey>>;
  };
  'POST /internal/v1/owner/api-keys': {
    body: z.input<typeof createOwnerApiKey>;
    answer: z.output<typeof ownerApiKeyWithText>;
  };
  'POST /internal/v1/owner/api-keys/{id}/revoke': { body: object; answer: z.output<typeof ownerApiKey> };
  'GET /internal/v1/owner/guardrails': { query: Query<Paged>; answer: List<OwnerGuardrail> };
  'POST /internal/v1/owner/guardrails': {
    body: z.input<typeof createOwnerGuardrail>;
    answer: OwnerGuardrail;
  };
  'PATCH /internal/v1/owner/guardrails/{guardrail}': {
    body: z.input<typeof patchOwnerGuardrail>;
    answer: OwnerGuardrail;
  };
  'DELETE /internal/v1/owner/guardrails/{guardrail}': { answer: undefined };
  'GET /internal/v1/owner/policies': { query: Query<Paged>; answer: List<OwnerPolicy> };
  'POST /internal/v1/owner/policies': { body: z.input<typeof createOwnerPolicy>; answer: OwnerPolicy };
  'GET /internal/v1/owner/policies/{policy}': { answer: OwnerPolicy };
  'PATCH /internal/v1/owner/policies/{policy}': { body: PatchOwnerPolicy; answer: OwnerPolicy };
  'DELETE /internal/v1/owner/policies/{policy}': { answer: undefined };
  'GET /internal/v1/owner/policies/{policy}/counters': {
    query: Query<Paged | 'sort'>;
    answer: List<OwnerPolicyCounter>;
  };
  'POST /internal/v1/owner/policies/{policy}/reset': { body: ResetPolicy; answer: OwnerPolicy };
  'PUT /internal/v1/owner/policies/{policy}/overrides/{value}': {
    body: z.input<typeof putPolicyOverride>;
    answer: PolicyOverride;
  };
  'DELETE /internal/v1/owner/policies/{policy}/overrides/{value}': { answer: undefined };
  'GET /internal/v1/owner/webhook-subscriptions': {
    query: Query<Paged>;
    answer: List<WebhookSubscription>;
  };
  'POST /internal/v1/owner/webhook-subscriptions': { body: NewSubscription; answer: CreatedSubscription };
  'PATCH /internal/v1/owner/webhook-subscriptions/{id}': {
    body: PatchSubscription;
    answer: WebhookSubscription;
  };
  'DELETE /internal/v1/owner/webhook-subscriptions/{id}': { answer: undefined };
  'POST /internal/v1/owner/webhook-subscriptions/{id}/test': { body: object; answer: WebhookDelivery };
  'GET /internal/v1/owner/audit-log': {
    query: Query<Paged | 'actor' | 'action' | 'from' | 'to' | 'tenant_id'>;
    answer: List<AuditEntry>;
  };
}
