import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Target } from '../catalogue/target.ts';
import { CollectingSink } from './collecting-sink.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { RequestSource } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import type { KeySettings } from '../shared/tenant-settings.ts';
import type { AnswerBudget } from '@gatehouse/kit/answer-budget';
import type { ObjectAnswer } from '../providers/provider-chain.ts';
import type { Actor, ProvenActor } from '../shared/actor.ts';
import { beginTurn, type TurnDependencies, type TurnRequest } from '../turns/begin-turn.ts';
import type { Turn } from '../turns/turn.ts';
import { withTools, type ToolDependencies } from '../tools/tools.ts';
import { withMemory, type MemoryDependencies } from '../memory/with-memory.ts';
import type { StoreAnswer } from '../runs/run.ts';

export interface InnerTurnDependencies extends TurnDependencies {
  answers: AnswerBudget;
  bodyBudget: BodyBudget;
}

export interface AgentTurnDependencies extends InnerTurnDependencies, MemoryDependencies, ToolDependencies {}

export interface InnerTurn {
  request: AcceptedRequest;
  source: RequestSource;
  actor: Actor;
  settings: KeySettings;
  target: Target;
  channel: string;
  /** Ends the provider call. */
  signal: AbortSignal;
  store?: StoreAnswer;
}

export interface AgentTurn extends InnerTurn {
  /** The one whose memory and tools the agent uses: in a group it has no user. */
  rights: ProvenActor;
  sessionId: string | null;
  /** Awaited before the turn does what must not be done again. */
  act: () => Promise<void>;
}

/**
 * Does work on a request that another service has sent, whose bytes count like those of a client until it is over or has
 * released them. Waits as a body does, and throws like it.
 */
export async function charged<Result>(
  budget: BodyBudget,
  { tenantId, bytes }: { tenantId: string; bytes: number },
  work: (share: TenantShare) => Promise<Result>,
): Promise<Result> {
  const share = budget.open(tenantId, null);
  try {
    await share.enter(bytes);
    share.grow(bytes);
    return await work(share);
  } finally {
    share.release();
  }
}

/**
 * One turn for another service: the same limits, provider calls and record as for a client. Its run has no key and no
 * previews, since its texts are kept, and forgotten, elsewhere.
 */
export async function answerInside(
  dependencies: InnerTurnDependencies,
  turn: InnerTurn,
): Promise<ObjectAnswer> {
  const settings = { ...turn.settings, previewChars: 0 };
  const nothing = { target: turn.target, recall: null, onAnswer: null, sessionId: null, tools: null };
  return answer(dependencies, { ...turn, settings }, () => Promise.resolve(nothing));
}

/** One turn of an agent for somebody who is not a client: with its memory, tools, previews and a session. */
export async function answerAsAgent(
  dependencies: AgentTurnDependencies,
  turn: AgentTurn,
): Promise<ObjectAnswer> {
  const { sessionId } = turn;
  const asMember = { ...turn, actor: turn.rights };
  return answer(dependencies, turn, async (arrivedAt) => ({
    ...(await withMemory(dependencies, { ...asMember, arrivedAt })),
    tools: await withTools(dependencies, { ...asMember, dialect: dialects.chat }),
    sessionId,
  }));
}

type Prepared = Pick<TurnRequest, 'target' | 'recall' | 'onAnswer' | 'sessionId' | 'tools'>;

async function answer(
  dependencies: InnerTurnDependencies,
  turn: InnerTurn,
  prepare: (arrivedAt: number) => Promise<Prepared>,
): Promise<ObjectAnswer> {
  const { request, source, settings, channel, signal, store } = turn;
  const actor = { ...turn.actor, apiKeyId: null };
  const { tenantId } = actor;
  const arrivedAt = monotonicMs();
  const admission = await dependencies.limiter.arrive({ tenantId, apiKeyId: null, settings });
  const begin = async (): Promise<Turn> =>
    beginTurn(dependencies, {
      ...(await prepare(arrivedAt)),
      dialect: dialects.chat,
      headers: {},
      clientDialect: null,
      clientName: null,
      request,
      source,
      actor,
      settings,
      channel,
      thoughts: null,
      signatures: null,
      keep: null,
      previousId: null,
      arrivedAt,
      admission,
      signal,
    });
  const begun = await begin().catch((error: unknown) => {
    admission.release({ tokens: 0, costPico: 0n });
    throw error;
  });
  const sink = new CollectingSink({ tenantId, answers: dependencies.answers, signal, store });
  await begun.complete(sink);
  return sink.answer;
}

/** The channel of runs that memory asks for. */
export const memoryChannel = 'memory';
