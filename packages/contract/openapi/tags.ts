/** The groups of operations, in display order, by the parts of route ids before their last dot. */
const known: readonly [prefixes: string, name: string, description: string][] = [
  ['chat', 'Chat', 'Chat completions of the OpenAI API'],
  ['responses', 'Responses', "OpenAI's Responses API"],
  ['embeddings', 'Embeddings', 'Embeddings of the OpenAI API'],
  ['moderations', 'Moderations', 'Moderations of the OpenAI API'],
  ['files batches messages.batches', 'Batches', 'Requests that are answered within a day, at a lower price'],
  ['models gemini.models', 'Models', 'Values for `model`'],
  [
    'azure azure.deployments azure.models azure.v1',
    'Azure',
    "The same under the paths of Azure OpenAI's clients",
  ],
  ['gemini gemini.v1', 'Gemini', "Content of Google's Gemini API"],
  ['toolsets', 'Toolsets', 'Tools that programs may call'],
  ['agents', 'Agents', 'A model with a system prompt and parameters, used as `model: "agent:<key>"`'],
  ['memory memory.documents', 'Memory', 'Documents that an agent remembers, and search in them'],
  ['kg kg.entities kg.relations', 'Knowledge graph', 'Entities and relations that an agent knows'],
  ['traces runs', 'Traces', 'Runs and their provider calls'],
  ['usage', 'Usage', 'Requests and tokens'],
  ['costs', 'Costs', 'Cost of runs'],
  ['webhooks', 'Webhooks', 'Deliveries that trigger agents'],
  [
    'channels.instances channels.conversations channels.messages',
    'Channels',
    'Messaging channels that agents answer on',
  ],
  ['limits', 'Limits', 'Limits and budgets'],
  ['policies policies.overrides', 'Policies', 'Limits and budgets of the runs that they select'],
  ['guardrails', 'Guardrails', 'Checks of the texts of the runs that they select'],
  ['api-keys', 'API keys', 'Keys of a tenant'],
  ['me.api-keys me.sessions', 'Own keys and sessions', 'Keys and sessions of the caller'],
  ['tenant.settings', 'Tenant settings', 'Settings of the tenant that its admins may change'],
  ['audit-log', 'Audit log', 'Administrative changes in the tenant'],
  ['login session sessions', 'Sessions', 'People who are logged in with a browser'],
  [
    'users groups users.data users.data.deletions',
    'Users',
    'The people that requests act for, their groups, and their data',
  ],
  ['owner.api-keys', 'Owner: API keys', 'Owner keys, and admin keys of tenants'],
  ['owner.tenants owner.budgets', 'Owner: tenants', 'Tenants, their limits, budgets and settings'],
  ['owner.policies owner.policies.overrides', 'Owner: policies', 'Policies of the operator for tenants'],
  ['owner.guardrails', 'Owner: guardrails', 'Guardrails of the operator for tenants'],
  ['owner.audit-log', 'Owner: audit log', 'Administrative changes'],
  ['owner.providers', 'Owner: providers', 'Health of providers and their keys'],
  ['owner.usage owner.costs', 'Owner: usage and costs', 'Usage and costs of all tenants'],
  ['', 'Gateway', 'The gateway itself'],
];

export interface Tag {
  name: string;
  description: string;
}

/** The tag of a route. An unlisted tag is named after the prefix of the route id. */
export function tagOf(routeId: string): Tag {
  const prefix = routeId.split('.').slice(0, -1).join('.');
  const [, name, description] = known.find(([prefixes]) => prefixes.split(' ').includes(prefix)) ?? [
    prefix,
    prefix,
    prefix,
  ];
  return { name, description };
}

/** The tags of these routes without duplicates: the listed ones in order, then the others. */
export function tagsOf(routeIds: readonly string[]): Tag[] {
  const used = new Map(routeIds.map((id) => [tagOf(id).name, tagOf(id)]));
  const order = known.map(([, name]) => name);
  const place = ({ name }: Tag): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...used.values()].sort((a, b) => place(a) - place(b));
}
