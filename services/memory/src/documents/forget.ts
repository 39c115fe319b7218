import type { Forget } from '@gatehouse/contract/memory';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { assertWritesAgents, agentScope } from '../shared/memory-key.ts';

/** The rows to forget: all rows matching every set member. */
export interface ErasedRows {
  users: readonly string[] | 'all';
  pathPrefix: string | null;
  runId: string | null;
  sessionId: string | null;
  /** Rows written by later requests stay. */
  until?: Date;
}

/**
 * Returns the rows a caller may forget by a request. An acting user forgets what is their own. Other callers
 * need the scope `agents.write`; they forget for one user, what a run or session left for anyone, or documents of the
 * agent.
 */
export function forgottenBy(principal: TenantPrincipal, body: Forget): ErasedRows {
  const {
    path_prefix: pathPrefix = null,
    run_id: runId = null,
    session_id: sessionId = null,
    user_id: user,
  } = body;
  if (Object.values(body).every((value) => value === undefined))
    throw new AppError('missing_required_parameter', 'Set path_prefix, run_id, session_id or user_id.');
  return {
    users: usersOf(principal, user, runId !== null || sessionId !== null),
    pathPrefix,
    runId,
    sessionId,
  };
}

function usersOf(
  principal: TenantPrincipal,
  user: string | undefined,
  byRunOrSession: boolean,
): readonly string[] | 'all' {
  const { userId } = principal;
  if (userId === null) {
    assertWritesAgents(principal);
    if (user !== undefined) return [user];
    return byRunOrSession ? 'all' : [agentScope];
  }
  if (user === undefined || user === userId) return [userId];
  throw new AppError(
    'user_mismatch',
    'A request with an acting user forgets only what belongs to that user.',
    {
      param: 'user_id',
    },
  );
}
