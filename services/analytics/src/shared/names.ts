/** Keys and names of agents, and names of API keys, by id. An id without a name is not in it. */
export interface Names {
  agents: ReadonlyMap<string, { key: string; name: string }>;
  apiKeys: ReadonlyMap<string, { name: string }>;
}
