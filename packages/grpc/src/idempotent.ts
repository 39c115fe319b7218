/**
 * RPCs requests wait for, and with no effect, or no further effect when repeated: after the loss of its connection a
 * call is sent once more. Searches of memory aren't among them: each embeds its query in a paid run. Background work
 * repeats its calls itself. By their paths, as the generated code has them.
 */
export const idempotentRpcs: ReadonlySet<string> = new Set([
  '/gatehouse.agent.v1.AgentService/DescribeAgents',
  '/gatehouse.agent.v1.AgentService/ListTools',
  '/gatehouse.agent.v1.AgentService/ListVisibleAgents',
  '/gatehouse.agent.v1.AgentService/ResolveAgent',
  '/gatehouse.chat.v1.ChatService/CheckModels',
  '/gatehouse.chat.v1.ChatService/CheckProviderKey',
  '/gatehouse.chat.v1.ChatService/CountOpenRuns',
  '/gatehouse.memory.v1.MemoryService/GetUsage',
  '/gatehouse.participant.v1.ParticipantService/Describe',
  '/gatehouse.system.v1.SystemService/GetSystemState',
  '/gatehouse.tenant.v1.TenantService/Authenticate',
  '/gatehouse.tenant.v1.TenantService/AuthenticateSession',
  '/gatehouse.tenant.v1.TenantService/DescribeKeys',
  '/gatehouse.tenant.v1.TenantService/DescribeTenants',
  '/gatehouse.tenant.v1.TenantService/GetTenantSettings',
  '/gatehouse.tenant.v1.TenantService/ListChanges',
]);
