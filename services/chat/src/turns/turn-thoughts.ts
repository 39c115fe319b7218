import type { DialectName } from '@gatehouse/contract/dialects';
import type { Target } from '../catalogue/target.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { Actor } from '../shared/actor.ts';
import type { LastingRun } from '../runs/run.ts';
import type {
  CallThoughts,
  KnownThoughts,
  SealedThought,
} from '@gatehouse/dialects/translation/sealed-thoughts';
import { losesSeals } from '@gatehouse/dialects/translation/translation';

/** Thoughts of a conversation whose client has no place for them. */
export interface TurnThoughts {
  /** Those of earlier answers, until the request is released. */
  known: KnownThoughts;
  /** Keeps those of the answer for the client's next request. */
  keep: (calls: readonly CallThoughts[], run: LastingRun) => Promise<void>;
  release: () => void;
}

type Thinker = Pick<Actor, 'tenantId' | 'userId'>;

export interface ThoughtDependencies {
  thoughts: {
    find: (
      callIds: readonly string[],
      thinker: Thinker,
    ) => Promise<{ thoughts: Map<string, readonly SealedThought[]>; bytes: number }>;
    keep: (calls: readonly CallThoughts[], run: LastingRun, thinker: Thinker) => Promise<void>;
  };
}

interface ThoughtTurn {
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
export async function withThoughts(
  { thoughts }: ThoughtDependencies,
  { dialect, request, target, actor, share }: ThoughtTurn,
): Promise<TurnThoughts | null> {
  const mayThink = target.chain.some(({ api, reasoning }) => api !== dialect.name && reasoning !== false);
  if (request.operation !== 'chat' || !mayThink || !losesSeals(dialect.name)) return null;
  const { tenantId, userId } = actor;
  const { callIds } = request;
  const found = callIds.length === 0 ? null : await thoughts.find(callIds, { tenantId, userId });
  if (found !== null) share.grow(found.bytes);
  const known = found?.thoughts ?? new Map<string, readonly SealedThought[]>();
  return {
    known,
    keep: (calls, run) => thoughts.keep(calls, run, { tenantId, userId }),
    release: () => known.clear(),
  };
}
