import type { Rights } from '../shell/rights.ts';
import { Agent } from './agent.tsx';
import { Agents } from './agents.tsx';
import { Audit } from './audit.tsx';
import { Batches } from './batches.tsx';
import { Channel } from './channel.tsx';
import { Channels } from './channels.tsx';
import { Costs } from './costs.tsx';
import { Graph } from './graph.tsx';
import { Guardrails, OwnerGuardrails } from './guardrails.tsx';
import { Keys } from './keys.tsx';
import { McpServers } from './mcp-servers.tsx';
import { Memory } from './memory.tsx';
import { Models } from './models.tsx';
import { MyData } from './my-data.tsx';
import { Overview } from './overview.tsx';
import { PersonalAccess } from './personal-access.tsx';
import { OwnerAudit } from './owner-audit.tsx';
import { OwnerKeys } from './owner-keys.tsx';
import { listed, pageAt, sections, type Page } from './page.ts';
import { OwnerPolicies, Policies } from './policies.tsx';
import { OwnerPolicyPage, PolicyPage } from './policy.tsx';
import { Playground } from './playground.tsx';
import { ProviderKeys } from './provider-keys.tsx';
import { Providers } from './providers.tsx';
import { Running } from './running.tsx';
import { Sessions } from './sessions.tsx';
import { Settings } from './settings.tsx';
import { Spending } from './spending.tsx';
import { OwnerSubscriptions, Subscriptions } from './subscriptions.tsx';
import { System } from './system.tsx';
import { Tenants } from './tenants.tsx';
import { Toolsets } from './toolsets.tsx';
import { Trace } from './trace.tsx';
import { Traces } from './traces.tsx';
import { TransferPreview } from './transfer-preview.tsx';
import { Transfers } from './transfers.tsx';
import { Usage } from './usage.tsx';
import { Users } from './users.tsx';
import { WebhookCall } from './webhook-call.tsx';
import { WebhookCalls } from './webhook-calls.tsx';
import { Webhooks } from './webhooks.tsx';

export { sections };

const admin = { role: 'admin' } as const;
const owner = { role: 'owner' } as const;
const analytics = { scope: 'analytics.read' } as const;
const running = { scope: 'runs.write' } as const;
const ownData = { anyScope: ['cookies.write', 'chat'] } as const;
const chat = { scope: 'chat' } as const;
const keys = { scope: 'keys.write' } as const;
const policies = { icon: 'gauge', needs: { scope: 'policies.write' } } as const;

const guardrails = { icon: 'shield', needs: { scope: 'guardrails.write' } } as const;

const monitor = [
  { path: '/app/', title: 'Overview', icon: 'gauge', needs: analytics, component: Overview },
  { path: '/app/costs', title: 'Costs', icon: 'money', needs: admin, component: Costs },
  { path: '/app/usage', title: 'Usage', icon: 'chart', needs: analytics, component: Usage },
  { path: '/app/traces', title: 'Traces', icon: 'activity', needs: analytics, component: Traces },
  { path: '/app/running', title: 'Running now', icon: 'monitor', needs: running, component: Running },
  { path: '/app/traces/:id', title: 'Trace', icon: 'activity', needs: analytics, component: Trace },
] as const;

const agents = { icon: 'agent', needs: { scope: 'agents.write' } } as const;
const memory = { icon: 'database', needs: { scope: 'memory.read' } } as const;
const webhooks = { icon: 'webhook', needs: { scope: 'webhooks.write' } } as const;
const events = { icon: 'bell', needs: { scope: 'webhooks.write' } } as const;
const channels = { icon: 'chat', needs: { scope: 'channels.read' } } as const;
const mcp = { icon: 'plug', needs: { scope: 'mcp.write' } } as const;

const build = [
  { path: '/app/playground', title: 'Playground', icon: 'chat', needs: chat, component: Playground },
  { path: '/app/agents', title: 'Agents', ...agents, component: Agents },
  { path: '/app/agents/:id', title: 'Agent', ...agents, component: Agent },
  { path: '/app/memory/:id', title: 'Memory', ...memory, component: Memory },
  { path: '/app/graph/:id', title: 'Knowledge graph', ...memory, component: Graph },
  { path: '/app/mcp-servers', title: 'MCP servers', ...mcp, component: McpServers },
  { path: '/app/toolsets', title: 'Toolsets', ...mcp, component: Toolsets },
  { path: '/app/channels', title: 'Channels', ...channels, component: Channels },
  { path: '/app/channels/:id', title: 'Channel', ...channels, component: Channel },
  { path: '/app/webhooks', title: 'Webhooks', ...webhooks, component: Webhooks },
  { path: '/app/webhooks/:id', title: 'Calls of a webhook', ...webhooks, component: WebhookCalls },
  { path: '/app/webhook-calls/:id', title: 'Call of a webhook', ...webhooks, component: WebhookCall },
  { path: '/app/subscriptions', title: 'Subscriptions', ...events, component: Subscriptions },
  { path: '/app/batches', title: 'Batches', icon: 'layers', needs: chat, component: Batches },
] as const;

const everyone = { icon: 'device', needs: 'session' } as const;

const access = [
  { path: '/app/keys', title: 'Keys', icon: 'key', needs: keys, component: Keys },
  {
    path: '/app/provider-keys',
    title: 'Provider keys',
    icon: 'server',
    needs: keys,
    component: ProviderKeys,
  },
  { path: '/app/access', title: 'My keys and sessions', ...everyone, component: PersonalAccess },
  { path: '/app/data', title: 'My data', icon: 'person', needs: ownData, component: MyData },
  { path: '/app/users', title: 'Users', icon: 'users', needs: admin, component: Users },
  { path: '/app/policies', title: 'Policies', ...policies, component: Policies },
  { path: '/app/policies/:id', title: 'Policy', ...policies, component: PolicyPage },
  { path: '/app/guardrails', title: 'Guardrails', ...guardrails, component: Guardrails },
  { path: '/app/sessions', title: 'Sessions', icon: 'shield', needs: admin, component: Sessions },
] as const;

const transfers = { icon: 'transfer', component: Transfers } as const;
const preview = { icon: 'transfer', component: TransferPreview } as const;
const movesOut = { needs: { scope: 'transfers.write' } } as const;

const administration = [
  { path: '/app/transfers', title: 'Transfers', ...transfers, ...movesOut },
  { path: '/app/transfers/:id', title: 'Transfer', ...preview, ...movesOut },
  { path: '/app/audit', title: 'Audit log', icon: 'list', needs: admin, component: Audit },
  { path: '/app/settings', title: 'Settings', icon: 'settings', needs: keys, component: Settings },
] as const;

const ownerPolicies = { icon: 'gauge', needs: owner } as const;

const platform = [
  { path: '/app/', title: 'Spending', icon: 'money', needs: owner, component: Spending },
  { path: '/app/tenants', title: 'Tenants', icon: 'layers', needs: owner, component: Tenants },
  { path: '/app/owner-policies', title: 'Policies', ...ownerPolicies, component: OwnerPolicies },
  { path: '/app/owner-policies/:id', title: 'Policy', ...ownerPolicies, component: OwnerPolicyPage },
  {
    path: '/app/owner-guardrails',
    title: 'Guardrails',
    icon: 'shield',
    needs: owner,
    component: OwnerGuardrails,
  },
  { path: '/app/models', title: 'Models', icon: 'database', needs: owner, component: Models },
  { path: '/app/providers', title: 'Providers', icon: 'server', needs: owner, component: Providers },
  { path: '/app/system', title: 'System', icon: 'gauge', needs: owner, component: System },
  { path: '/app/owner-keys', title: 'Keys', icon: 'key', needs: owner, component: OwnerKeys },
  {
    path: '/app/owner-subscriptions',
    title: 'Subscriptions',
    icon: 'bell',
    needs: owner,
    component: OwnerSubscriptions,
  },
  { path: '/app/transfers', title: 'Transfers', ...transfers, needs: owner },
  { path: '/app/transfers/:id', title: 'Transfer', ...preview, needs: owner },
  { path: '/app/owner-audit', title: 'Audit log', icon: 'list', needs: owner, component: OwnerAudit },
] as const;

const pages: readonly Page[] = [
  ...monitor.map((page): Page => ({ ...page, section: 'Monitor' })),
  ...build.map((page): Page => ({ ...page, section: 'Build' })),
  ...access.map((page): Page => ({ ...page, section: 'Access' })),
  ...administration.map((page): Page => ({ ...page, section: 'Administration' })),
  ...platform.map((page): Page => ({ ...page, section: 'Platform' })),
];

export function pagesFor(person: Rights): Page[] {
  return listed(pages, person);
}

export function findPage(path: string, person: Rights) {
  return pageAt(pages, path, person);
}
