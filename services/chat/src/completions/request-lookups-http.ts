import { hash } from 'node:crypto';
import { agentRef, type ResolvedAgent } from '../catalogue/target.ts';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import type { Chain, Holders, KeptResponses, Reader } from '../kept-responses/kept-response-store.ts';
import type { ProvenActor } from '../shared/actor.ts';
import type { TargetDependencies } from '../turns/find-target.ts';
import { LargeWork } from '../shared/large-work.ts';

/** The names in a request whose meaning another service or the database knows. */
interface Names {
  agent: string | null;
  previousId: string | null;
  itemIds: readonly string[];
}

/** A large request that has left its turn: what it names is looked up first. */
class Unread {
  readonly names: Names;

  constructor(names: Names) {
    this.names = names;
  }
}

interface LookupDependencies extends Pick<TargetDependencies, 'agents'> {
  responses: Pick<KeptResponses, 'chain' | 'holders'>;
}

/** The look-ups of one request, each made once. They wait for the agent service and for the database. */
export class RequestLookups {
  /** The agent with an id or key; null when the caller can't see one. */
  readonly agent: (ref: string) => Promise<ResolvedAgent | null>;
  /** See `KeptResponses.chain`. */
  readonly chain: (previousId: string) => Promise<Chain>;
  /** See `KeptResponses.holders`. */
  readonly holders: (ids: readonly string[]) => Promise<Holders>;
  #isReady = false;

  constructor(
    { agents, responses }: LookupDependencies,
    { actor, reader }: { actor: ProvenActor; reader: Reader },
  ) {
    this.agent = once((ref: string) => agents.resolve(actor, ref));
    this.chain = once((previousId: string) => responses.chain(previousId, reader));
    this.holders = once((ids: readonly string[]) => responses.holders(ids, reader));
  }

  /** `findTarget` takes them in place of the agent service. */
  get agents(): TargetDependencies['agents'] {
    return { resolve: (_actor, ref) => this.agent(ref) };
  }

  /** Not null for a request that has the turn of large ones, and names what isn't looked up yet: it is to leave the turn. */
  unread(request: CompletionRequest, work: LargeWork): Unread | null {
    if (this.#isReady || work.key === undefined) return null;
    const names = namesIn(request);
    const isNone = names.agent === null && names.previousId === null && names.itemIds.length === 0;
    return isNone ? null : new Unread(names);
  }

  /** Looks everything up. Errors are thrown to the part of the request that asks next. */
  async prepare({ agent, previousId, itemIds }: Names): Promise<void> {
    this.#isReady = true;
    await Promise.allSettled([
      agent === null ? null : this.agent(agent),
      previousId === null ? null : this.chain(previousId),
      itemIds.length === 0 ? null : this.holders(itemIds),
    ]);
  }
}

/**
 * Reads a request in the turn of large ones. One that names something leaves the turn with none of its values in memory
 * while that is looked up, and is read again: others don't wait for another service or the database of its tenant.
 */
export async function readInTurn<Read>(
  large: Parameters<typeof LargeWork.during>[0],
  lookups: RequestLookups,
  read: (work: LargeWork) => Promise<Read | Unread>,
): Promise<Read> {
  for (;;) {
    const given = await LargeWork.during(large, read);
    if (!(given instanceof Unread)) return given;
    await lookups.prepare(given.names);
  }
}

/** Ids of items that one request may have in place of them. */
export const maxReferences = 1_000;
/** More than ids have. */
export const maxIdChars = 200;

/** The ids of items in a request that stand for items which it doesn't have. */
export function unknownIds({
  references,
  places,
}: Pick<NonNullable<CompletionRequest['state']>, 'references' | 'places'>): string[] {
  return [...new Set(references.values())].filter((id) => !places.has(id));
}

function namesIn({ model, operation, state }: CompletionRequest): Names {
  const agent = operation === 'chat' ? agentRef(model) : null;
  const previousId = state?.previousId ?? null;
  const isSmall = state !== undefined && state.references.size <= maxReferences;
  const ids = isSmall ? unknownIds(state) : [];
  return {
    agent: agent !== null && agent.length <= maxIdChars ? agent : null,
    previousId: previousId !== null && previousId.length <= maxIdChars ? previousId : null,
    itemIds: ids.every(({ length }) => length <= maxIdChars) ? ids : [],
  };
}

/** The last answer again, while it is asked the same. */
function once<Asked extends string | readonly string[], Result>(
  look: (asked: Asked) => Promise<Result>,
): (asked: Asked) => Promise<Result> {
  let last: { key: string; found: Promise<Result> } | null = null;
  return (asked) => {
    const key = typeof asked === 'string' ? asked : hash('sha256', JSON.stringify(asked));
    if (last?.key !== key) last = { key, found: look(asked) };
    return last.found;
  };
}
