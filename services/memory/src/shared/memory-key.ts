import type { MemoryScope } from '@gatehouse/contract/memory';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { grants } from '@gatehouse/contract/scopes';

export type Analyser = 'english' | 'simple';

/** Reads the analyser of an agent as another service sends it. */
export function analyserOf(text: string | undefined): Analyser {
  return text === 'simple' ? 'simple' : 'english';
}

/** The memory of one agent. */
export interface MemoryKey {
  tenantId: string;
  agentId: string;
  analyser: Analyser;
}

/** The user id of what belongs to the agent itself. */
export const agentScope = '';

/** The users with passages visible to a caller: the agent's own and those of the acting user. */
export function readableUsers({ userId }: Pick<TenantPrincipal, 'userId'>): string[] {
  return userId === null ? [agentScope] : [agentScope, userId];
}

/**
 * The user with the memory for a caller's writes: the acting user or, without one and with the scope `agents.write`,
 * the agent. Throws when `scope` names the other.
 */
export function writableUser(principal: TenantPrincipal, scope?: MemoryScope): string {
  const { userId } = principal;
  if (userId !== null) {
    if (scope !== 'agent') return userId;
    throw new AppError(
      'user_mismatch',
      'A request with an acting user writes only to the memory of that user: omit X-Service-User-Id or use the scope user.',
      { param: 'scope' },
    );
  }
  if (scope === 'user')
    throw new AppError('acting_user_required', 'Set X-Service-User-Id to write to the memory of a user.', {
      param: 'scope',
    });
  assertWritesAgents(principal);
  return agentScope;
}

/** Throws `scope_missing` unless the key may change agents. */
export function assertWritesAgents({ scopes }: TenantPrincipal): void {
  if (grants(scopes, 'agents.write')) return;
  throw new AppError(
    'scope_missing',
    'Without an acting user, this request needs a key with the scope agents.write.',
  );
}
