import type { DialectName } from '@gatehouse/contract/dialects';
import type { Recall } from '@gatehouse/events/run-event';
import type { AppError } from '@gatehouse/kit/errors';
import type { Model } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import type { Admission } from '../limits/admission.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { Dialect, FrameSink, RequestHead, RequestSource } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { CallReasoning, KnownReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { ProviderChainOptions } from '../providers/provider-chain.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { ActiveRun } from '../recording/active-run.ts';
import type { StoreResponse } from '../runs/run.ts';
import type { Actor, ProvenActor } from '../shared/actor.ts';
import type { ClientName } from '../shared/client-name.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import type { TurnTools } from '../tools/tool-loop.ts';

/**
 * One concern of a turn: stored responses, reasoning, memory, … The stages of all turns are one list (`turnStages`), in
 * whose order they are called. A stage has no state of its own about a turn: that is in `TurnContext`.
 */
export interface TurnStage {
  /**
   * Looks up what the stage adds to the request, at the same time as all other stages and before limits are checked. Sets
   * members of `turn` that no other stage sets. An error refuses the request: no run, no provider call.
   */
  prepare?(turn: TurnContext, input: TurnInput): Promise<void> | void;
  /**
   * Changes the request before a provider gets it, one stage after another: limits have been checked, and all stages are
   * prepared. May replace `source`, `target` and members of `request`. An error refuses the request, as in `prepare`.
   */
  request?(turn: StartedTurn, input: TurnInput): Promise<void> | void;
  /** The part that the stage has in an answer which has begun; null for none. An error ends the run with it. */
  answer?(turn: StartedTurn): AnswerStage | null;
  /** The turn is over, and its run has ended: the client has the whole answer, or the error. Must not throw. */
  ended?(turn: StartedTurn, outcome: TurnOutcome): void;
}

/** The part of a stage in one answer. */
export interface AnswerStage {
  /** Between the provider and the client, in the order of the stages. */
  filter?: AnswerFilter | null;
  /**
   * Stores something of the answer, which has arrived as a whole: before its run's end is committed and its last bytes
   * leave. The answer has passed the filters of the stages before. An error ends the run, and the client gets it.
   */
  complete?: (answer: CompleteAnswer) => Promise<void>;
}

/** Changes an answer on its way to the client. An error of `stream` or `whole` ends the run. */
export interface AnswerFilter {
  /** A sink that passes frames on to `next`. It may hold them until `complete`, and returns false from `write` to wait. */
  stream(next: FrameSink): FrameSink;
  /** The last frames of a stream as they go on. Called again with others; must not throw, since the run has ended. */
  lastFrames(frames: readonly Buffer[]): readonly Buffer[];
  whole(bytes: Buffer, model: Model): Promise<Buffer>;
}

/** An answer that has arrived as a whole. */
export interface CompleteAnswer {
  model: Model;
  /** Its calls of tools, with reasoning that its client's API has no place for. */
  thoughts: readonly CallReasoning[];
  /** The document of a whole answer; null for a stream. */
  bytes: Buffer | null;
  /** The last frames of a stream. */
  lastFrames: () => readonly Buffer[];
}

/** The text of the model, where the turn keeps it, or the error that the client gets. */
export type TurnOutcome = { text: string } | { error: AppError };

/** The parts of a request that are in memory until its turn has started, and no longer. */
export interface TurnInput {
  facts: AcceptedRequest;
  /** Its text with everything that it names; null for a request of another service. */
  text: Buffer | null;
  /** Is charged for what is read for it. */
  share: { grow(bytes: number): void };
}

/** The head of a request, with the ways to show an answer as its client asked for it. */
interface TurnHead extends RequestHead {
  viewWith: AcceptedRequest['viewWith'];
  keptView: AcceptedRequest['keptView'];
}

/** One completion on its way. The entrance of the request makes it, and stages add to it. */
export interface TurnContext {
  /** The format of the request and its answer. */
  readonly dialect: Dialect & { name: ApiName };
  request: TurnHead;
  source: RequestSource;
  target: Target;
  readonly actor: Actor;
  /** The party whose memory and tools an agent uses; null without one. */
  readonly member: ProvenActor | null;
  readonly settings: KeySettings;
  /** The client, which is no service of the gateway; null without one. */
  readonly client: { dialect: DialectName; name: ClientName } | null;
  /** The entrance of the request: `api`, `memory`, … */
  readonly channel: string;
  readonly sessionId: string | null;
  /** Headers of the client that its API passes on. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the client asked for events of the gateway's calls of tools. */
  readonly showsTools: boolean;
  /** Awaited before the turn does what must not be done again, where it may be repeated. */
  readonly act?: (() => Promise<void>) | undefined;
  /** By the monotonic clock. */
  readonly arrivedAt: number;
  /** The amounts of the tenant's limits that it holds since it arrived. The turn releases them once it completes. */
  readonly admission: Admission;
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  /** The response that the request continues, and the way to store its own; null where a dialect stores none. */
  readonly stored: StoredState | null;
  /** The search in memory that the target's reference is from; null without one. */
  recall: Recall | null;
  /** Takes the text of the answer, for memory; null where it is not remembered. Must not throw. */
  remember: ((answer: { runId: string; text: string }) => void) | null;
  /** Tools that the gateway calls; null without any. */
  tools: TurnTools | null;
  /** Reasoning of earlier answers that the client's API has no place for. */
  thoughts: KnownReasoning;
  /** The origins of reasoning signatures; null where all models share one. */
  signatures: SignatureOrigins | null;
}

export interface StoredState {
  /** The stored response that the client names. */
  previousId: string | null;
  /** Stores the answer; null where it is not stored. */
  store: StoreResponse | null;
}

/** A turn whose request has passed every limit. */
export interface StartedTurn extends TurnContext {
  readonly run: ActiveRun;
  /** The most tokens of an answer that a budget allows; null where the request's own limit counts. */
  readonly maxTokens: number | null;
  readonly unpricedTools: ProviderChainOptions['unpricedTools'];
  /** Headers of the answer about limits: `x-ratelimit-*`, `x-gateway-max-tokens`. */
  readonly limitHeaders: Record<string, string>;
  /** Reserves a further provider call (see `ToolLoopOptions`); null without tools. */
  readonly admitMore: ((addedBytes: number) => Promise<number | null>) | null;
  /** Whether the end of the run makes a stored response visible. */
  isStored: boolean;
}

const nothing = {
  ...{ member: null, client: null, sessionId: null, headers: {}, showsTools: false, stored: null },
  ...{ recall: null, remember: null, tools: null, signatures: null },
};

/** Members of a turn that its entrance knows. */
type Entrance = Omit<TurnContext, 'request' | 'thoughts' | keyof typeof nothing> &
  Partial<Pick<TurnContext, keyof typeof nothing>>;

/** The context of a turn to which its stages have added nothing. */
export function turnContext(entrance: Entrance, facts: AcceptedRequest): TurnContext {
  const { operation, model, stream, wantsUsage, choices, isBatch, compaction, viewWith, keptView } = facts;
  return {
    ...{ ...nothing, thoughts: new Map(), ...entrance },
    request: { operation, model, stream, wantsUsage, choices, isBatch, compaction, viewWith, keptView },
  };
}
