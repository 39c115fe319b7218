/** The groups that readers see, in their order, by what comes before the last dot of a route's id. */
const known: readonly [prefix: string, name: string, description: string][] = [
  ['chat', 'Chat', 'Chat completions of the OpenAI API'],
  ['embeddings', 'Embeddings', 'Embeddings of the OpenAI API'],
  ['models', 'Models', 'What may be named as `model`'],
  ['agents', 'Agents', 'A model with a system prompt and parameters, used as `model: "agent:<key>"`'],
  ['traces', 'Traces', 'Runs, and the calls of providers within them'],
  ['usage', 'Usage', 'Requests and tokens'],
  ['costs', 'Costs', 'What runs cost'],
  ['limits', 'Limits', 'Limits and budgets'],
  ['api-keys', 'API keys', "A tenant's keys"],
  ['owner.api-keys', 'Owner: API keys', 'Keys of the owner and of the admins of tenants'],
  ['owner.tenants', 'Owner: tenants', 'Tenants, their limits and settings'],
  ['owner.audit-log', 'Owner: audit log', 'Administrative changes'],
  ['', 'Gateway', 'The gateway itself'],
];

export interface Tag {
  name: string;
  description: string;
}

/** The tag of a route; one that is not listed above is named after the route's id. */
export function tagOf(routeId: string): Tag {
  const prefix = routeId.split('.').slice(0, -1).join('.');
  const [, name, description] = known.find(([listed]) => listed === prefix) ?? [prefix, prefix, prefix];
  return { name, description };
}

/** The tags of these routes, each once: the listed ones in their order, then the others. */
export function tagsOf(routeIds: readonly string[]): Tag[] {
  const used = new Map(routeIds.map((id) => [tagOf(id).name, tagOf(id)]));
  const order = known.map(([, name]) => name);
  const place = ({ name }: Tag): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...used.values()].sort((a, b) => place(a) - place(b));
}
