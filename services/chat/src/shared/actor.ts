import type { RequestContext } from '@gatehouse/http/request-context';
import type { Assertion } from '@gatehouse/identity/local-assertion';
import { visibilityKey, type Delegation, type TenantPrincipal } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { cacheKey } from '@gatehouse/kit/cache-key';

/** The tenant and user that a turn acts for, as far as the agent and memory services need them. */
export interface Actor extends RequestContext {
  tenantId: string;
  /** The user whose agents and memory it sees. */
  userId: string | null;
  /** Callers with the same see the same agents. */
  sees: string;
  /** Proves it to a service. */
  proofFor: (service: 'agent' | 'memory') => Promise<Assertion>;
}

/** The actor of a request with a key: its assertion is passed on. */
export function requestActor({
  principal,
  assertion,
  requestId,
  trace,
}: RequestContext & { principal: TenantPrincipal; assertion: Assertion }): Actor {
  const { tenantId, userId } = principal;
  const sees = visibilityKey(principal);
  return { requestId, trace, tenantId, userId, sees, proofFor: () => Promise.resolve(assertion) };
}

/** The actor of a call that another service has delegated: for its one agent, also if that is private. */
export function delegatedActor(
  signer: Signer,
  delegation: Delegation,
  { requestId, trace }: RequestContext,
): Actor {
  const { tenantId, agentId, userId } = delegation;
  return {
    requestId,
    trace,
    tenantId,
    userId,
    sees: cacheKey(tenantId, 'delegated', agentId),
    proofFor: (service) => signer.delegation(delegation, service),
  };
}
