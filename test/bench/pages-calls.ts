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

/** Days until the end of today, or of `daysAgo`, as a period. */
function period(days: number, daysAgo = 0): { from: string; to: string } {
  const end = (Math.floor(Date.now() / dayMs) + 1 - daysAgo) * dayMs;
  return { from: new Date(end - days * dayMs).toISOString(), to: new Date(end).toISOString() };
}

/** The last 30 days, the period that pages choose at first, as parameters of a summary. */
const days = (more: Record<string, string> = {}): string =>
  new URLSearchParams({ ...period(30), timezone, ...more }).toString();
const before = new URLSearchParams({ ...period(30, 30), timezone }).toString();

const costs = (group_by: string): string => `/v1/costs/summary?${days({ group_by })}`;
const usage = (group_by: string): string => `/v1/usage/summary?${days({ group_by })}`;
const traces = (more: Record<string, string> = {}, ofDays = 30): string =>
  `/v1/traces?${new URLSearchParams({ limit: '50', ...period(ofDays), ...more }).toString()}`;
const spending = (figures: 'costs' | 'usage', more: Record<string, string>): string =>
  `/internal/v1/owner/${figures}/summary?${days(more)}`;
const lists = (role: string, paths: Record<string, string>): Call[] =>
  Object.entries(paths).map(([name, path]) => ({ name: `${role}: ${name}`, path }));

interface Named {
  agent: string;
  /** The agent and the key of a program with runs. */
  busy: { agent: string; key: string };
  endpoint: string;
  call: string;
  run: string;
}

export function callsOfAdmin({ agent, busy, endpoint, call, run }: Named): Call[] {
  const memory = `/v1/agents/${agent}`;
  return [
    ...lists('admin', {
      'each page: session': '/v1/session',
      'each page: limits': '/v1/limits',
      'Overview: costs': `/v1/costs/summary?${days({ group_by: 'day' })}`,
      'Overview: usage': `/v1/usage/summary?${days()}`,
      'Overview: costs by model': costs('model'),
      'Overview: costs by agent': costs('agent'),
      'Overview: period before': `/v1/costs/summary?${before}`,
      'names: agents': '/v1/agents?limit=200',
      'names: keys': '/v1/api-keys?limit=200',
      'Usage by day': usage('day'),
      'Usage by model': usage('model'),
      'Usage by agent': usage('agent'),
      'Usage by session': usage('session'),
      'Costs by day': costs('day'),
      'Costs by day and model': costs('day,model'),
      'Costs by day and agent': costs('day,agent'),
      'Costs by agent and user': costs('agent,user'),
      'Costs by API key': costs('api_key'),
      'Costs by month and user': costs('month,user'),
      'Costs: CSV by day': `/v1/costs/export?${days({ group_by: 'day' })}`,
      'Users: costs': costs('user'),
      'Users: directory': '/v1/users?limit=50',
      'Users: search': '/v1/users?limit=50&q=person%2049',
      'Users: a group': '/v1/users?limit=50&group=group-7',
      'Users: blocked': '/v1/users?limit=50&status=blocked',
      'Users: groups': '/v1/groups?limit=50',
      Policies: '/v1/policies?limit=50',
      'Running now': '/v1/traces?limit=50&status=running',
      Traces: '/v1/traces/follow?limit=100',
      'Traces of a user': '/v1/traces/follow?limit=100&user_id=user-0',
      'Traces that failed': '/v1/traces/follow?limit=100&status=error',
      ...Object.fromEntries(
        Object.entries(listsOfRuns(busy)).map(([name, path]) => [`Traces: ${name}`, path]),
      ),
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

/** Lists of runs of a period, by filter and order. The rare ones read the most. */
const listsOfRuns = (busy: Named['busy']): Record<string, string> => ({
  '30 days': traces(),
  'by cost': traces({ sort: 'cost' }),
  'by duration': traces({ sort: 'duration' }),
  'a model': traces({ model: 'model-3' }),
  'a model, by cost': traces({ model: 'model-3', sort: 'cost' }),
  'an agent': traces({ agent_id: busy.agent }),
  'a key': traces({ api_key_id: busy.key }),
  'a user': traces({ user_id: 'user-0' }),
  'a rare user': traces({ user_id: 'user-4990' }),
  failed: traces({ status: 'error' }),
  'an error code': traces({ error_code: 'provider_error' }),
  'an error code of no run': traces({ error_code: 'no_such_code' }),
  'a cost of no run': traces({ min_cost_usd: '1' }),
  'a long duration': traces({ min_duration_ms: '20150' }),
  'search of names': traces({ q: 'user-499' }),
  'search of texts, 7 days': traces({ q: 'portcullis' }, 7),
  refused: traces({ status: 'refused' }),
  'refused by code': `/v1/usage/summary?${days({ group_by: 'error_code' })}`,
});

export const callsOfUser: readonly Call[] = lists('user', {
  'Overview: costs': `/v1/costs/summary?${days({ group_by: 'day' })}`,
  'Overview: usage': `/v1/usage/summary?${days()}`,
  'Usage by agent': usage('agent'),
  Traces: '/v1/traces/follow?limit=100',
  'Traces: 30 days': traces(),
  'My keys': '/v1/me/api-keys?limit=50',
  'My sessions': '/v1/me/sessions?limit=50',
  'My data: cookies': '/v1/browser/cookies?limit=50',
  'My data: logins': '/v1/mcp/logins?limit=50',
});

export function callsOfOwner(tenant: string): Call[] {
  return lists('owner', {
    'Spending by tenant': spending('costs', { group_by: 'tenant' }),
    'Spending by day and tenant': spending('costs', { group_by: 'day,tenant' }),
    'Spending: period before': `/internal/v1/owner/costs/summary?${before}`,
    'Spending: usage by tenant': spending('usage', { group_by: 'tenant' }),
    'Spending by model': spending('costs', { group_by: 'model' }),
    'Spending: usage by model': spending('usage', { group_by: 'model' }),
    'Spending by day': spending('costs', { group_by: 'day' }),
    'Spending of a tenant': spending('costs', { group_by: 'model', tenant_id: tenant }),
    'Spending of a tenant: usage': spending('usage', { group_by: 'model', tenant_id: tenant }),
    'Spending: budgets': '/internal/v1/owner/budgets?limit=5',
    'names: tenants': '/internal/v1/owner/tenants?limit=200',
    Tenants: '/internal/v1/owner/tenants?limit=50',
    'Tenants: search': '/internal/v1/owner/tenants?limit=50&q=other%20900',
    'Tenants: suspended': '/internal/v1/owner/tenants?limit=50&status=suspended',
    Policies: '/internal/v1/owner/policies?limit=50',
    Models: '/internal/v1/owner/models',
    Providers: '/internal/v1/owner/providers',
    System: '/internal/v1/owner/system',
    Keys: '/internal/v1/owner/api-keys?limit=50',
    'Keys of a tenant': `/internal/v1/owner/api-keys?limit=50&tenant_id=${tenant}&role=admin`,
    'Audit log': '/internal/v1/owner/audit-log?limit=50',
    'Audit log of a tenant': `/internal/v1/owner/audit-log?limit=50&tenant_id=${tenant}&action=tenant.updated`,
  });
}
