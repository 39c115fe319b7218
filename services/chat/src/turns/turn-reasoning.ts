import type { DialectName } from '@gatehouse/contract/dialects';
import type { Target } from '../catalogue/target.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { Actor } from '../shared/actor.ts';
import type { LastingRun } from '../runs/run.ts';
import type {
  CallReasoning,
  KnownReasoning,
  SignedReasoning,
} from '@gatehouse/dialects/translation/signed-reasoning';
import { losesSignatures } from '@gatehouse/dialects/translation/translation';

/** Thoughts of a conversation whose client has no place for them. */
export interface TurnReasoning {
  /** Those of earlier answers, until the request is released. */
  known: KnownReasoning;
  /** Keeps those of the answer for the client's next request. */
  keep: (calls: readonly CallReasoning[], run: LastingRun) => Promise<void>;
  release: () => void;
}

type ReasoningOwner = Pick<Actor, 'tenantId' | 'userId'>;

export interface ReasoningDependencies {
  thoughts: {
    find: (
      callIds: readonly string[],
      owner: ReasoningOwner,
    ) => Promise<{ thoughts: Map<string, readonly SignedReasoning[]>; bytes: number }>;
    keep: (calls: readonly CallReasoning[], run: LastingRun, owner: ReasoningOwner) => Promise<void>;
  };
}

interface ReasoningTurn {
  dialect: { name: DialectName };
  request: AcceptedRequest;
  target: Target;
  actor: Actor;
  /** Is charged for what is read. */
  share: { grow(bytes: number): void };
}

/**
 * The thoughts of a turn; null where the client has a place for them, or no model answers in another API with some. One
 * look-up for a conversation with calls of tools, and none for others. Throws what `grow` throws.
 */
export async function withReasoning(
  { thoughts }: ReasoningDependencies,
  { dialect, request, target, actor, share }: ReasoningTurn,
): Promise<TurnReasoning | null> {
  const mayThink = target.chain.some(({ api, reasoning }) => api !== dialect.name && reasoning !== false);
  if (request.operation !== 'chat' || !mayThink || !losesSignatures(dialect.name)) return null;
  const { tenantId, userId } = actor;
  const { callIds } = request;
  const found = callIds.length === 0 ? null : await thoughts.find(callIds, { tenantId, userId });
  if (found !== null) share.grow(found.bytes);
  const known = found?.thoughts ?? new Map<string, readonly SignedReasoning[]>();
  return {
    known,
    keep: (calls, run) => thoughts.keep(calls, run, { tenantId, userId }),
    release: () => known.clear(),
  };
}
