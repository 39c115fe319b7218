/** The calls of the pages, as they send them. */

export interface Call {
  /** The page, and what is chosen on it. */
  name: string;
  path: string;
  /** The body of a POST. */
  body?: object;
}

export const timezone = 'Europe/Berlin';
const dayMs = 86_400_000;

/** The last 30 days, the period that pages choose at first, as parameters of a summary. */
function days(more: Record<string, string> = {}): string {
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  const [from = '', to = ''] = [today - 29 * dayMs, today + dayMs].map((at) => new Date(at).toISOString());
  return new URLSearchParams({ from, to, timezone, ...more }).toString();
}

const costs = (group_by: string): string => `/v1/costs/summary?${days({ group_by })}`;
const usage = (group_by: string): string => `/v1/usage/summary?${days({ group_by })}`;
const lists = (role: string, paths: Record<string, string>): Call[] =>
  Object.entries(paths).map(([name, path]) => ({ name: `${role}: ${name}`, path }));

interface Named {
  agent: string;
  endpoint: string;
  call: string;
  run: string;
}

export function callsOfAdmin({ agent, endpoint, call, run }: Named): Call[] {
  const memory = `/v1/agents/${agent}`;
  return [
    ...lists('admin', {
      'each page: session': '/v1/session',
      'each page: limits': '/v1/limits',
      'Overview: costs': `/v1/costs/summary?${days({ group_by: 'day' })}`,
      'Overview: usage': `/v1/usage/summary?${days()}`,
      'Overview: costs by model': costs('model'),
      'Overview: costs by agent': costs('agent'),
      'Overview: period before': `/v1/costs/summary?${days()}`,
      'names: agents': '/v1/agents?limit=200',
      'names: keys': '/v1/api-keys?limit=200',
      'Usage by day': usage('day'),
      'Usage by agent': usage('agent'),
      'Usage by session': usage('session'),
      'Costs by day': costs('day'),
      'Costs by day and model': costs('day,model'),
      'Costs by day and agent': costs('day,agent'),
      'Costs by agent and user': costs('agent,user'),
      'Costs by API key': costs('api_key'),
      'Costs by month and user': costs('month,user'),
      'Costs: CSV by day': `/v1/costs/export?${days({ group_by: 'day' })}`,
      Users: `/v1/costs/summary?${days({ group_by: 'user' })}`,
      Traces: '/v1/traces/follow?limit=100',
      'Traces of a user': '/v1/traces/follow?limit=100&user_id=user-0',
      'Traces of a period': '/v1/traces?limit=50',
      'Traces that failed': '/v1/traces/follow?limit=100&status=error',
      Trace: `/v1/traces/${run}`,
      Agents: '/v1/agents?limit=50',
      'Agents: search': '/v1/agents?limit=50&q=copy%20900',
      'Agents: disabled': '/v1/agents?limit=50&status=disabled',
      Agent: `/v1/agents/${agent}`,
      'Playground: models': '/v1/models',
      Keys: '/v1/api-keys?limit=50',
      'Keys of a user': '/v1/api-keys?limit=50&user_id=user-0',
      Webhooks: '/v1/webhooks/endpoints?limit=50',
      'Calls of a webhook': `/v1/webhooks/endpoints/${endpoint}/calls?limit=50`,
      'Call of a webhook': `/v1/webhooks/calls/${call}`,
      Subscriptions: '/v1/webhooks/subscriptions?limit=50',
      Channels: '/v1/channels/instances?limit=50',
      'MCP servers': '/v1/mcp/servers?limit=50',
      'Memory: stats': `${memory}/memory/stats`,
      'Memory: documents': `${memory}/memory/documents?limit=50`,
      'Memory: documents of a folder': `${memory}/memory/documents?limit=50&path_prefix=copies/9`,
      'Knowledge graph': `${memory}/kg/entities?limit=50`,
      'Knowledge graph: search': `${memory}/kg/entities?limit=50&q=copy%209`,
      Transfers: '/v1/tenant/resource-transfers?limit=50',
      Sessions: '/v1/sessions?limit=50',
      'Audit log': '/v1/audit-log?limit=50',
      'Audit log: an action': '/v1/audit-log?limit=50&action=tenant.updated',
    }),
    {
      ...{ name: 'admin: Memory: search', path: `${memory}/memory/search` },
      body: { query: 'Who digs the moat?' },
    },
  ];
}

export const callsOfUser: readonly Call[] = lists('user', {
  'Overview: costs': `/v1/costs/summary?${days({ group_by: 'day' })}`,
  'Overview: usage': `/v1/usage/summary?${days()}`,
  'Usage by agent': usage('agent'),
  Traces: '/v1/traces/follow?limit=100',
  'My data: cookies': '/v1/browser/cookies?limit=50',
  'My data: logins': '/v1/mcp/logins?limit=50',
});

export function callsOfOwner(tenant: string): Call[] {
  return lists('owner', {
    'Spending by tenant': `/internal/v1/owner/costs/summary?${days({ group_by: 'tenant' })}`,
    'Spending by day and tenant': `/internal/v1/owner/costs/summary?${days({ group_by: 'day,tenant' })}`,
    'Spending: usage by tenant': `/internal/v1/owner/usage/summary?${days({ group_by: 'tenant' })}`,
    'Spending: budgets': '/internal/v1/owner/budgets?limit=5',
    'names: tenants': '/internal/v1/owner/tenants?limit=200',
    Tenants: '/internal/v1/owner/tenants?limit=50',
    'Tenants: search': '/internal/v1/owner/tenants?limit=50&q=other%20900',
    'Tenants: suspended': '/internal/v1/owner/tenants?limit=50&status=suspended',
    Models: '/internal/v1/owner/models',
    Providers: '/internal/v1/owner/providers',
    System: '/internal/v1/owner/system',
    Keys: '/internal/v1/owner/api-keys?limit=50',
    'Keys of a tenant': `/internal/v1/owner/api-keys?limit=50&tenant_id=${tenant}&role=admin`,
    'Audit log': '/internal/v1/owner/audit-log?limit=50',
    'Audit log of a tenant': `/internal/v1/owner/audit-log?limit=50&tenant_id=${tenant}&action=tenant.updated`,
  });
}
