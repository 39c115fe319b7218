/** The groups of operations, in display order, by the part of the route id before its last dot. */
const known: readonly [prefix: string, name: string, description: string][] = [
  ['chat', 'Chat', 'Chat completions of the OpenAI API'],
  ['responses', 'Responses', "OpenAI's Responses API"],
  ['embeddings', 'Embeddings', 'Embeddings of the OpenAI API'],
  ['files', 'Batches', 'Requests that are answered within a day, at a lower price'],
  ['batches', 'Batches', 'Requests that are answered within a day, at a lower price'],
  ['messages.batches', 'Batches', 'Requests that are answered within a day, at a lower price'],
  ['models', 'Models', 'Values for `model`'],
  ['azure', 'Azure', "The same under the paths of Azure OpenAI's clients"],
  ['azure.deployments', 'Azure', "The same under the paths of Azure OpenAI's clients"],
  ['azure.models', 'Azure', "The same under the paths of Azure OpenAI's clients"],
  ['azure.v1', 'Azure', "The same under the paths of Azure OpenAI's clients"],
  ['gemini', 'Gemini', "Content of Google's Gemini API"],
  ['gemini.v1', 'Gemini', "Content of Google's Gemini API"],
  ['gemini.models', 'Models', 'Values for `model`'],
  ['agents', 'Agents', 'A model with a system prompt and parameters, used as `model: "agent:<key>"`'],
  ['memory', 'Memory', 'Documents that an agent remembers, and search in them'],
  ['memory.documents', 'Memory', 'Documents that an agent remembers, and search in them'],
  ['kg', 'Knowledge graph', 'Entities and relations that an agent knows'],
  ['kg.entities', 'Knowledge graph', 'Entities and relations that an agent knows'],
  ['kg.relations', 'Knowledge graph', 'Entities and relations that an agent knows'],
  ['traces', 'Traces', 'Runs and their provider calls'],
  ['usage', 'Usage', 'Requests and tokens'],
  ['costs', 'Costs', 'Cost of runs'],
  ['webhooks', 'Webhooks', 'Deliveries that trigger agents'],
  ['channels.instances', 'Channels', 'Messaging channels that agents answer on'],
  ['channels.conversations', 'Channels', 'Messaging channels that agents answer on'],
  ['channels.messages', 'Channels', 'Messaging channels that agents answer on'],
  ['limits', 'Limits', 'Limits and budgets'],
  ['api-keys', 'API keys', 'Keys of a tenant'],
  ['me.api-keys', 'Own keys and sessions', 'Keys and sessions of the caller'],
  ['me.sessions', 'Own keys and sessions', 'Keys and sessions of the caller'],
  ['tenant.settings', 'Tenant settings', 'Settings of the tenant that its admins may change'],
  ['audit-log', 'Audit log', 'Administrative changes in the tenant'],
  ['login', 'Sessions', 'People who are logged in with a browser'],
  ['session', 'Sessions', 'People who are logged in with a browser'],
  ['sessions', 'Sessions', 'People who are logged in with a browser'],
  ['users.data', 'Users', 'The data of end users'],
  ['users.data.deletions', 'Users', 'The data of end users'],
  ['owner.api-keys', 'Owner: API keys', 'Owner keys, and admin keys of tenants'],
  ['owner.tenants', 'Owner: tenants', 'Tenants, their limits and settings'],
  ['owner.audit-log', 'Owner: audit log', 'Administrative changes'],
  ['owner.providers', 'Owner: providers', 'Health of providers and their keys'],
  ['', 'Gateway', 'The gateway itself'],
];

export interface Tag {
  name: string;
  description: string;
}

/** The tag of a route. An unlisted tag is named after the prefix of the route id. */
export function tagOf(routeId: string): Tag {
  const prefix = routeId.split('.').slice(0, -1).join('.');
  const [, name, description] = known.find(([listed]) => listed === prefix) ?? [prefix, prefix, prefix];
  return { name, description };
}

/** The tags of these routes without duplicates: the listed ones in order, then the others. */
export function tagsOf(routeIds: readonly string[]): Tag[] {
  const used = new Map(routeIds.map((id) => [tagOf(id).name, tagOf(id)]));
  const order = known.map(([, name]) => name);
  const place = ({ name }: Tag): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...used.values()].sort((a, b) => place(a) - place(b));
}
