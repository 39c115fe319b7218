import type { Rights } from '../shell/rights.ts';
import { Agent } from './agent.tsx';
import { Agents } from './agents.tsx';
import { Audit } from './audit.tsx';
import { Channels } from './channels.tsx';
import { Costs } from './costs.tsx';
import { Graph } from './graph.tsx';
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
import { Playground } from './playground.tsx';
import { Providers } from './providers.tsx';
import { Sessions } from './sessions.tsx';
import { Settings } from './settings.tsx';
import { Subscriptions } from './subscriptions.tsx';
import { System } from './system.tsx';
import { Tenants } from './tenants.tsx';
import { Trace } from './trace.tsx';
import { Traces } from './traces.tsx';
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
const ownData = { anyScope: ['cookies.write', 'chat'] } as const;
const webhooks = { scope: 'webhooks.write' } as const;

const mine = [
  { path: '/app/', title: 'Overview', needs: analytics, component: Overview },
  { path: '/app/usage', title: 'Usage', needs: analytics, component: Usage },
  { path: '/app/playground', title: 'Playground', needs: { scope: 'chat' }, component: Playground },
  { path: '/app/traces', title: 'Traces', needs: analytics, component: Traces },
  { path: '/app/traces/:id', title: 'Trace', needs: analytics, component: Trace },
  { path: '/app/keys', title: 'Keys', needs: { scope: 'keys.write' }, component: Keys },
  { path: '/app/access', title: 'My keys and sessions', needs: 'session', component: PersonalAccess },
  { path: '/app/data', title: 'My data', needs: ownData, component: MyData },
] as const;

const tenantPages = [
  { path: '/app/costs', title: 'Costs', needs: admin, component: Costs },
  { path: '/app/agents', title: 'Agents', needs: { scope: 'agents.write' }, component: Agents },
  { path: '/app/agents/:id', title: 'Agent', needs: { scope: 'agents.write' }, component: Agent },
  { path: '/app/memory/:id', title: 'Memory', needs: { scope: 'memory.read' }, component: Memory },
  { path: '/app/graph/:id', title: 'Knowledge graph', needs: { scope: 'memory.read' }, component: Graph },
  { path: '/app/users', title: 'Users', needs: admin, component: Users },
  { path: '/app/channels', title: 'Channels', needs: { scope: 'channels.read' }, component: Channels },
  { path: '/app/mcp-servers', title: 'MCP servers', needs: { scope: 'mcp.write' }, component: McpServers },
  { path: '/app/webhooks', title: 'Webhooks', needs: webhooks, component: Webhooks },
  { path: '/app/webhooks/:id', title: 'Calls of a webhook', needs: webhooks, component: WebhookCalls },
  { path: '/app/webhook-calls/:id', title: 'Call of a webhook', needs: webhooks, component: WebhookCall },
  { path: '/app/subscriptions', title: 'Subscriptions', needs: webhooks, component: Subscriptions },
  { path: '/app/transfers', title: 'Transfers', needs: { scope: 'transfers.write' }, component: Transfers },
  { path: '/app/sessions', title: 'Sessions', needs: admin, component: Sessions },
  { path: '/app/audit', title: 'Audit log', needs: admin, component: Audit },
  { path: '/app/settings', title: 'Settings', needs: { scope: 'keys.write' }, component: Settings },
] as const;

const platformPages = [
  { path: '/app/', title: 'Tenants', needs: owner, component: Tenants },
  { path: '/app/models', title: 'Models', needs: owner, component: Models },
  { path: '/app/providers', title: 'Providers', needs: owner, component: Providers },
  { path: '/app/system', title: 'System', needs: owner, component: System },
  { path: '/app/owner-keys', title: 'Keys', needs: owner, component: OwnerKeys },
  { path: '/app/owner-audit', title: 'Audit log', needs: owner, component: OwnerAudit },
] as const;

const pages: readonly Page[] = [
  ...mine.map((page): Page => ({ ...page, section: 'Workspace' })),
  ...tenantPages.map((page): Page => ({ ...page, section: 'Tenant' })),
  ...platformPages.map((page): Page => ({ ...page, section: 'Platform' })),
];

export function pagesFor(person: Rights): Page[] {
  return listed(pages, person);
}

export function findPage(path: string, person: Rights) {
  return pageAt(pages, path, person);
}
