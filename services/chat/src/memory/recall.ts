import type { TurnSettings } from '@gatehouse/contract/agents';
import type { Recall } from '@gatehouse/events/run-event';
import { cutText } from '@gatehouse/events/cut-text';
import { monotonicMs, settledWithin } from '@gatehouse/kit/clock';
import type { Assertion } from '@gatehouse/identity/local-assertion';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Passage, RecallRequest, RecallResponse } from '@gatehouse/proto/memory/v1/memory';
import type { Target } from '../catalogue/target.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { ProvenActor } from '../shared/actor.ts';
import { Breaker } from '../providers/breaker.ts';
import type { RunTelemetry } from '../recording/run-telemetry.ts';
import { referenceOf } from './reference.ts';

/** The longest delay of a turn by a search. */
const recallBudgetMs = 150;
/** Memory is asked for nothing else here. */
const operation = 'recall';
/** The longest query accepted by memory. */
const maxQueryChars = 2_000;

/** The actor of a search, and its time limit. */
export interface RecallContext {
  requestId: string;
  trace: TraceContext;
  assertion: Assertion;
  deadlineMs: number;
}

export interface RecallOptions {
  memory: {
    recall: (request: RecallRequest, context: RecallContext) => Promise<RecallResponse>;
    /** Whether a search failed because there was no connection to memory. */
    isUnreachable: (error: unknown) => boolean;
  };
  telemetry: Pick<RunTelemetry, 'within' | 'recalled'>;
  /** 150 ms by default. */
  budgetMs?: number | undefined;
}

/** The turn of a search. */
export interface RecallTurn {
  request: AcceptedRequest;
  actor: ProvenActor;
  target: Target;
  sessionId: string | null;
  /** By the monotonic clock. */
  arrivedAt: number;
  /** The question as its user wrote it, where guardrails have substituted values. */
  restored?: (question: string) => string;
  /** The passages as guardrails let them pass; absent without any. */
  passed?: ((passages: readonly Passage[]) => Promise<readonly Passage[]>) | undefined;
}

export interface Recalled {
  /** The target, with the passages found. */
  target: Target;
  /** Null if there was no search. */
  recall: Recall | null;
  /** The passages that the target has. */
  passages: readonly Passage[];
}

interface Outcome extends Pick<Recall, 'outcome' | 'mode'> {
  passages: RecallResponse['passages'];
}

const nothing = { mode: null, passages: [] };

/**
 * Searches an agent's memory for the user's last message. Never throws, and never takes longer than its budget: without
 * an answer by then, the turn goes on without passages. While memory is known to be down, it is not asked.
 */
export class RecallStep {
  readonly #options: RecallOptions;
  readonly #budgetMs: number;
  readonly #breaker = new Breaker();

  constructor(options: RecallOptions) {
    this.#options = options;
    this.#budgetMs = options.budgetMs ?? recallBudgetMs;
  }

  async run(turn: RecallTurn): Promise<Recalled> {
    const { target, request } = turn;
    const { memory } = target;
    const question = memory === null ? null : request.lastUserText();
    if (memory === null || question === null) return { target, recall: null, passages: [] };
    const startedAt = monotonicMs();
    const { outcome, mode, passages } = await this.#search(
      turn,
      memory,
      turn.restored?.(question.text) ?? question.text,
      startedAt,
    );
    const reference = referenceOf(turn.passed === undefined ? passages : await turn.passed(passages));
    const recall: Recall = {
      id: newId(),
      outcome,
      mode,
      passages: reference?.passages.length ?? 0,
      offset_ms: Math.round(startedAt - turn.arrivedAt),
      duration_ms: Math.round(monotonicMs() - startedAt),
    };
    if (reference === null) return { target, recall, passages: [] };
    const { index } = question;
    const { content, passages: used } = reference;
    return { target: { ...target, reference: { index, content } }, recall, passages: used };
  }

  async #search(
    { actor, target, sessionId }: RecallTurn,
    { analyser, recall_limit: limit, min_score: minScore }: NonNullable<TurnSettings['memory']>,
    text: string,
    startedAt: number,
  ): Promise<Outcome> {
    const { memory, telemetry } = this.#options;
    const { requestId, tenantId } = actor;
    const agentId = target.agentId ?? '';
    const trace = telemetry.within(actor.trace);
    const result = this.#breaker.admits({ operation, tenantId })
      ? await this.#within(tenantId, async () =>
          memory.recall(
            { agentId, analyser, limit, minScore, query: cutText(text, maxQueryChars) },
            { deadlineMs: this.#budgetMs, requestId, trace, assertion: await actor.proofFor('memory') },
          ),
        )
      : ({ outcome: 'unavailable', ...nothing } as const);
    telemetry.recalled({
      trace,
      startedAt,
      endedAt: monotonicMs(),
      tenantId,
      agentId,
      sessionId,
      outcome: result.outcome,
      mode: result.mode,
      passages: result.passages.length,
    });
    return result;
  }

  /** The outcome of the search by the end of the budget. */
  async #within(tenantId: string, search: () => Promise<RecallResponse>): Promise<Outcome> {
    let result: Outcome = { outcome: 'timeout', ...nothing };
    const answered = search().then(
      ({ passages, mode }) => {
        this.#breaker.answered({ operation, tenantId });
        this.#breaker.succeeded({ operation, tenantId });
        result = { outcome: 'ok', mode, passages };
      },
      (error: unknown) => {
        const isLate = error instanceof AppError && error.code === 'service_timeout';
        // Any other failure may be due to the text of the search, or to one tenant's memory.
        const blame = this.#options.memory.isUnreachable(error) ? 'all' : 'tenant';
        this.#breaker.failed({ operation, tenantId }, blame);
        result = { outcome: isLate ? 'timeout' : 'unavailable', ...nothing };
      },
    );
    await settledWithin(answered, this.#budgetMs);
    return result;
  }
}
