import type { BodyBudget, TenantShare } from '@gatehouse/kit/body-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { AppError } from '@gatehouse/kit/errors';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import type { Model } from '../catalogue/catalogue.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import { dialects } from '@gatehouse/dialects/dialects';
import type { AnswerBudget, AnswerRoom } from '@gatehouse/kit/answer-budget';
import type { ObjectAnswer } from '../providers/provider-chain.ts';
import type { AnswerSink } from '../turns/turn.ts';
import { arrive, startTurn, type TurnDependencies } from '../turns/start-turn.ts';
import { turnContext, type TurnContext } from '../turns/turn-stage.ts';
import type { StoreAnswer } from '../runs/run.ts';

export interface InnerTurnDependencies extends TurnDependencies {
  answers: AnswerBudget;
  bodyBudget: BodyBudget;
}

type Members = 'source' | 'target' | 'actor' | 'settings' | 'channel' | 'signal';

/**
 * A turn for another service. Without a `member` its agent uses neither memory nor tools; in a group, the member has no
 * user. Previews are off in the settings of a run whose texts are stored, and forgotten, elsewhere.
 */
export interface InnerTurn
  extends Pick<TurnContext, Members>, Partial<Pick<TurnContext, 'member' | 'sessionId' | 'act'>> {
  facts: AcceptedRequest;
  share: TenantShare;
  /** Stores the answer with the end of its run. */
  store?: StoreAnswer;
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

/** One turn for another service: the same stages, limits, provider calls and record as for a client, without a key. */
export async function answerInside(
  dependencies: InnerTurnDependencies,
  { facts, share, store, ...turn }: InnerTurn,
): Promise<ObjectAnswer> {
  const { settings, signal } = turn;
  const actor = { ...turn.actor, apiKeyId: null };
  const { tenantId } = actor;
  const arrivedAt = monotonicMs();
  const started = await arrive(dependencies, { tenantId, apiKeyId: null, settings }, (admission) => {
    const entrance = { ...turn, actor, dialect: dialects.chat, arrivedAt, admission };
    return startTurn(dependencies, turnContext(entrance, facts), { facts, text: null, share });
  });
  const sink = new CollectingSink({ tenantId, answers: dependencies.answers, signal, store });
  await started.complete(sink);
  return sink.answer;
}

/** The channel of runs that memory asks for. */
export const memoryChannel = 'memory';

interface CollectingSinkOptions {
  tenantId: string;
  answers: AnswerBudget;
  /** Ends the provider call: the answer is no longer wanted. */
  signal: AbortSignal;
  /** Stores the answer with the end of its run. */
  store?: StoreAnswer | undefined;
}

/** Keeps the answer of a turn for a caller inside the gateway. */
class CollectingSink implements AnswerSink {
  readonly signal: AbortSignal;
  readonly begun = false;
  readonly stored: StoreAnswer | undefined;
  readonly #options: CollectingSinkOptions;
  #room: AnswerRoom | null = null;
  #answer: ObjectAnswer | null = null;

  constructor(options: CollectingSinkOptions) {
    this.#options = options;
    this.signal = options.signal;
    this.stored = options.store;
  }

  /** The answer, once the turn is over. */
  get answer(): ObjectAnswer {
    if (this.#answer === null) throw new Error('the turn has no answer');
    return this.#answer;
  }

  openRoom(): AnswerRoom {
    this.#room?.close();
    this.#room = this.#options.answers.open(this.#options.tenantId);
    return this.#room;
  }

  streamAccepted(): void {
    // Answers inside the gateway are not streamed.
  }

  sendObject(answer: ObjectAnswer): void {
    this.#answer = answer;
  }

  openStream(model: Model): FrameSink {
    throw new Error(`an answer of ${model.id} was streamed to a caller that collects it`);
  }

  endStream(): void {
    throw new Error('a stream was sent to a caller that collects its answer');
  }

  fail(error: AppError): void {
    throw error;
  }

  close(): void {
    this.#room?.close();
  }
}
