import type { UserGroup } from '@gatehouse/shell/user-directory';
import type { RequestContext } from '@gatehouse/http/request-context';
import type { Assertion } from '@gatehouse/identity/local-assertion';
import { visibilityKey, type Delegation, type TenantPrincipal } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { noGroups } from './acting-user.ts';

/** The party of a run, and the request behind it. */
export interface Actor extends RequestContext {
  tenantId: string;
  /** Null if no request with a key began the run. */
  apiKeyId: string | null;
  userId: string | null;
  /** The user's groups when the run began. */
  groups: readonly UserGroup[];
}

/** An actor with a proof of its identity for services. It therefore sees its user's agents and memory. */
export interface ProvenActor extends Actor {
  /** Callers with the same see the same agents. */
  readonly sees: string;
  /** Proves it to a service. */
  proofFor: (service: 'agent' | 'memory') => Promise<Assertion>;
}

/** The actor of a request with a key: its assertion is passed on. */
export function requestActor({
  principal,
  assertion,
  requestId,
  trace,
  groups = noGroups,
}: RequestContext & {
  principal: TenantPrincipal;
  assertion: Assertion;
  groups?: readonly UserGroup[];
}): ProvenActor {
  const { tenantId, keyId: apiKeyId, userId } = principal;
  return {
    ...{ requestId, trace, tenantId, apiKeyId, userId, groups },
    get sees() {
      return visibilityKey(principal);
    },
    proofFor: () => Promise.resolve(assertion),
  };
}

/** The actor of a call delegated by another service: for its one agent, also if private. */
export function delegatedActor(
  signer: Signer,
  delegation: Delegation,
  { requestId, trace, groups = noGroups }: RequestContext & { groups?: readonly UserGroup[] },
): ProvenActor {
  const { tenantId, agentId, userId } = delegation;
  return {
    requestId,
    trace,
    tenantId,
    apiKeyId: null,
    userId,
    groups,
    sees: cacheKey(tenantId, 'delegated', agentId),
    proofFor: (service) => signer.delegation(delegation, service),
  };
}
