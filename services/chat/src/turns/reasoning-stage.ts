import type { Logger } from '@gatehouse/kit/log';
import {
  withoutOwn,
  type CallReasoning,
  type KnownReasoning,
  type SignedReasoning,
} from '@gatehouse/dialects/translation/signed-reasoning';
import { losesSignatures } from '@gatehouse/dialects/translation/translation';
import { withRelease } from '../providers/request-source.ts';
import type { LastingRun } from '../runs/run.ts';
import type { Actor } from '../shared/actor.ts';
import type { TurnContext, TurnStage } from './turn-stage.ts';

type ReasoningOwner = Pick<Actor, 'tenantId' | 'userId'>;

export interface ReasoningDependencies {
  thoughts: {
    find: (
      callIds: readonly string[],
      owner: ReasoningOwner,
    ) => Promise<{ thoughts: Map<string, readonly SignedReasoning[]>; bytes: number }>;
    keep: (calls: readonly CallReasoning[], run: LastingRun, owner: ReasoningOwner) => Promise<void>;
  };
  log: Logger;
}

/**
 * Stores the reasoning before calls of tools for clients without a place for it in their API, and adds it to their next
 * request: one look-up for a conversation with calls of tools, and no look-up for others.
 */
export function reasoningStage({ thoughts, log }: ReasoningDependencies): TurnStage {
  return {
    prepare(turn, { facts: { callIds }, share }) {
      if (callIds.length === 0 || !losesReasoning(turn)) return;
      return thoughts.find(callIds, ownerOf(turn)).then((result) => {
        share.grow(result.bytes);
        turn.thoughts = result.thoughts;
        turn.thoughtBytes = bytesBefore(callIds, result.thoughts);
        const { source } = turn;
        // No provider call needs the reasoning once it needs the request no more.
        turn.source = withRelease(source, () => {
          result.thoughts.clear();
          source.release();
        });
      });
    },
    answer(turn) {
      if (!losesReasoning(turn)) return null;
      const { run, tools } = turn;
      return {
        async complete(answer) {
          // The client sees no calls of the gateway's tools, so reasoning before one belongs to the next of its own.
          const calls = withoutOwn(answer.thoughts, (name) => tools?.byName.has(name) === true);
          if (calls.length === 0) return;
          const { id, requestId } = run.identity;
          await thoughts.keep(calls, { id, ageMs: run.ageMs }, ownerOf(turn)).catch((error: unknown) => {
            log.warn(
              { err: error, request_id: requestId, run_id: id },
              'failed to keep thoughts for the next request',
            );
          });
        },
      };
    },
  };
}

/** A call named several times gets its thoughts each time. */
function bytesBefore(callIds: readonly string[], known: KnownReasoning): number {
  const bytes = new Map<string, number>();
  for (const [id, thoughts] of known) {
    const texts = thoughts.flatMap(({ text, signature }) => [text, signature.text]);
    bytes.set(
      id,
      texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    );
  }
  return callIds.reduce((sum, id) => sum + (bytes.get(id) ?? 0), 0);
}

/**
 * Whether a model of another API may reason, in answers to a client without a place for this in its API. Services don't
 * send calls of tools again.
 */
function losesReasoning({ client, request, target, dialect }: TurnContext): boolean {
  if (client === null) return false;
  const mayThink = target.chain.some(({ api, reasoning }) => api !== dialect.name && reasoning !== false);
  return request.operation === 'chat' && mayThink && losesSignatures(dialect.name);
}

function ownerOf({ actor: { tenantId, userId } }: TurnContext): ReasoningOwner {
  return { tenantId, userId };
}
