import { tenantOf, type RawCall } from '@gatehouse/http/app';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import type { MemoryAgents } from '../clients/agents.ts';
import type { MemoryKey } from '../shared/memory-key.ts';

/** The memory a request names, and who asks. */
export interface MemoryCall {
  key: MemoryKey;
  principal: TenantPrincipal;
}

/** Resolves `{agentID}`. Throws `not_found` without an agent visible to the caller. */
export async function memoryOf(call: RawCall, agents: MemoryAgents): Promise<MemoryCall> {
  const principal = tenantOf(call);
  const { id: agentId, analyser } = await agents.resolve(
    { ...call, principal },
    call.params['agentID'] ?? '',
  );
  return { key: { tenantId: principal.tenantId, agentId, analyser }, principal };
}
