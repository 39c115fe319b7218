import type { DialectName } from '@gatehouse/contract/dialects';
import type { Recall } from '@gatehouse/events/run-event';
import type { Passage } from '@gatehouse/proto/memory/v1/memory';
import type { AppError } from '@gatehouse/kit/errors';
import type { Model } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import type { Admission } from '../limits/admission.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { PromptParts } from '@gatehouse/dialects/prompt-parts';
import type { Dialect, FrameSink, RequestHead, RequestSource } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { CallReasoning, KnownReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { ProviderChainOptions } from '../providers/provider-chain-options.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { ActiveRun } from '../recording/active-run.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { RunContent } from '../run-content/run-content.ts';
import type { StoreResponse } from '../runs/run.ts';
import type { Actor, ProvenActor } from '../shared/actor.ts';
import type { ClientName } from '@gatehouse/kit/client-name';
import type { KeySettings } from '../shared/tenant-settings.ts';
import type { TurnTools } from '../tools/tool-loop.ts';

/**
 * One concern of a turn: stored responses, reasoning, memory, … The stages of all turns are one list (`turnStages`),
 * and are called in its order. A stage keeps no state of its own about a turn: `TurnContext` has it.
 */
export interface TurnStage {
  /**
   * Looks up the stage's additions to the request, at the same time as all other stages and before limits are checked.
   * Replaces members of `turn` that no other stage does: memory `target` and `recall`, reasoning `source`. A
   * rejection refuses the request: no run, no provider call. Undefined where the request does not need the stage.
   */
  prepare?(turn: TurnContext, input: TurnInput): Promise<void> | undefined;
  /**
   * Limits have been checked, and all stages are prepared; there is no run yet. May replace members of `turn`. An error
   * refuses the request, as in `prepare`.
   */
  admitted?(turn: TurnContext): Promise<void> | undefined;
  /**
   * Changes the request before a provider gets it, one stage after another: limits have been checked, and all stages are
   * prepared. May replace members of `turn` and `input`. An error refuses the request, or ends its run if a model has been
   * called for a guardrail.
   */
  request?(turn: StartedTurn, input: TurnInput): Promise<void> | undefined;
  /** The stage's part in a begun answer; null for no part. An error ends the run with it. */
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
  /** Passes frames on to `next`. The sink may hold them until `complete`, and returns false from `write` to wait. */
  stream(next: FrameSink): FrameSink;
  /**
   * All frames of a stream but the last have come, or it has failed (`last`: empty). Passes on what it has held. Only one stage
   * of a turn holds frames.
   */
  end?(last: readonly Buffer[]): Promise<void>;
  /** The last frames of a stream as they go on. Called again with others; must not throw, since the run has ended. */
  lastFrames(frames: readonly Buffer[]): readonly Buffer[];
  /** Whether it has ended a stream in place of its provider: `endFrames` are the last ones then. */
  readonly isOver?: boolean;
  endFrames?(): readonly Buffer[];
  whole(bytes: Buffer, model: Model): Promise<Buffer>;
}

/** Sees an answer as its guardrails let it pass, before values are put into it. */
export interface AnswerObserver {
  frames(frames: readonly Buffer[]): void;
  /** The last frames of a stream. Called again with others. */
  lastFrames(frames: readonly Buffer[]): void;
  whole(bytes: Buffer, model: Model): Promise<void>;
}

/** An answer once it has arrived as a whole. */
export interface CompleteAnswer {
  model: Model;
  /** Its calls of tools, with reasoning without a place in its client's API. */
  thoughts: readonly CallReasoning[];
  /** The document of a whole answer; null for a stream. */
  bytes: Buffer | null;
  /** The last frames of a stream. */
  lastFrames: () => readonly Buffer[];
}

/** The text of the model, where the turn keeps it, or the client's error. */
export type TurnOutcome = { text: string } | { error: AppError };

/** The parts of a request in memory until its turn has started, and no longer. */
export interface TurnInput {
  facts: AcceptedRequest;
  /** Null where no limit depends on its tokens, and for a prompt without parts. */
  parts: PromptParts | null;
  /** Its text with everything it names; null for a request of another service. */
  text: Buffer | null;
  /** The body as its client or a service sent it. */
  sent: Buffer;
  /** Is charged for what is read for it. */
  share: { grow(bytes: number): void };
  /** Reads its text again, with changes of guardrails. */
  reread: (text: Buffer) => Promise<RereadRequest>;
}

/** A request with another text. */
export interface RereadRequest {
  facts: AcceptedRequest;
  source: RequestSource;
}

/** The head of a request, with the ways to show an answer as its client asked for it. */
interface TurnHead extends RequestHead {
  viewWith: AcceptedRequest['viewWith'];
  keptView: AcceptedRequest['keptView'];
  thinking: AcceptedRequest['thinking'];
}

/** One completion on its way. The entrance of the request makes it, and stages add to it. */
export interface TurnContext {
  /** The format of the request and its answer. */
  readonly dialect: Dialect & { name: ApiName };
  request: TurnHead;
  source: RequestSource;
  target: Target;
  readonly actor: Actor;
  /** The owner of the memory and tools an agent uses; null without one. */
  readonly member: ProvenActor | null;
  readonly settings: KeySettings;
  /** The client, which is no service of the gateway; null without one. */
  readonly client: { dialect: DialectName; name: ClientName } | null;
  /** The entrance of the request: `api`, `memory`, … */
  readonly channel: string;
  readonly sessionId: string | null;
  /** The budget of the session in pico-USD, as the request sets it; null without the header. */
  readonly sessionBudget: bigint | null;
  /** The client's headers, as far as its API passes them on. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the client asked for events of the gateway's calls of tools. */
  readonly showsTools: boolean;
  /** Awaited before the turn does what must not be done again, where it may be repeated. */
  readonly act?: (() => Promise<void>) | undefined;
  /** By the monotonic clock. */
  readonly arrivedAt: number;
  /** The amounts of the tenant's limits held since its arrival. The turn releases them once it completes. */
  readonly admission: Admission;
  /** Ends the turn before its answer is complete. */
  readonly ending: AbortController;
  /** Aborts when the answer is no longer wanted, and with `ending`. */
  readonly signal: AbortSignal;
  /** The response it continues, and the way to store its own; null for a dialect without stored responses. */
  readonly stored: StoredState | null;
  /** The search in memory behind the target's reference; null without one. */
  recall: Recall | null;
  /** The passages of it, for a tenant that stores the content of runs; otherwise empty. */
  passages: readonly Passage[];
  /** Takes the text of the answer, for memory; null where it is not remembered, and until its request is checked. Must not throw. */
  remember: ((answer: { runId: string; text: string }) => void) | null;
  /** Tools called by the gateway; null without any. */
  tools: TurnTools | null;
  /** The servers and tools named by the agent that don't exist. */
  missingTools: readonly string[];
  /** Reasoning of earlier answers without a place in the client's API. */
  thoughts: KnownReasoning;
  /** Bytes of them in the request, in front of each of their calls. */
  thoughtBytes: number;
  /** The origins of reasoning signatures; null where all models share one. */
  signatures: SignatureOrigins | null;
  /** The guardrails of its run, which have read the request; null without any. */
  readonly guardrails: RunGuardrails | null;
  /**
   * The guardrails of the begun answer; null where no guardrail checks it. `text`: of the model, as its client got it; null
   * where it is the provider's.
   */
  answerGuard: {
    readonly text: string | null;
    /** Whether the answer gets values in place of placeholders. */
    readonly restores: boolean;
    /** Before the answer passes. */
    observe(observer: AnswerObserver): void;
    close(): void;
  } | null;
}

export interface StoredState {
  /** The stored response named by the client. */
  previousId: string | null;
  /** Stores the answer; null where it is not stored. */
  store: StoreResponse | null;
  /** The client's names of items left out, since there is none for its provider by their ids. */
  leftOut: readonly string[];
}

/** A turn after its request has passed every limit. */
export interface StartedTurn extends TurnContext {
  readonly run: ActiveRun;
  /** The most tokens of an answer within a budget; null where the request's own limit counts. */
  readonly maxTokens: number | null;
  readonly unpricedTools: ProviderChainOptions['unpricedTools'];
  /** Headers of the answer about limits: `x-ratelimit-*`, `x-gateway-max-tokens`. */
  readonly limitHeaders: Record<string, string>;
  /** Admits a call of a model (see `ProviderChainOptions`); null where all are admitted. */
  readonly admitModel: NonNullable<ProviderChainOptions['admitModel']> | null;
  /** Reserves a further provider call (see `ToolLoopOptions`); null without tools. */
  readonly admitMore: ((addedBytes: number) => Promise<number | null>) | null;
  /** Whether the end of the run makes a stored response visible. */
  isStored: boolean;
  /** The content to be stored; null where the tenant stores none, and once the run has ended. */
  content: RunContent | null;
}

/** Members of a turn known to its entrance. */
type Entrance = Pick<
  TurnContext,
  | 'dialect'
  | 'source'
  | 'target'
  | 'actor'
  | 'settings'
  | 'channel'
  | 'act'
  | 'arrivedAt'
  | 'admission'
  | 'ending'
  | 'signal'
> &
  Partial<Pick<TurnContext, OptionalMember>>;

type OptionalMember =
  | 'member'
  | 'client'
  | 'sessionId'
  | 'sessionBudget'
  | 'headers'
  | 'showsTools'
  | 'stored'
  | 'guardrails';

/** The context of a turn to which its stages have added nothing. */
export function turnContext(entrance: Entrance, facts: AcceptedRequest): TurnContext {
  const { member = null, client = null, sessionId = null, headers = {}, stored = null } = entrance;
  const { sessionBudget = null, guardrails = null } = entrance;
  const { operation, model, stream, wantsUsage, choices, isBatch, compaction, viewWith, keptView } = facts;
  const thinking = facts.thinking(entrance.target.defaults);
  // An object spread behind other members takes a microsecond.
  return {
    ...entrance,
    member,
    client,
    sessionId,
    sessionBudget,
    headers,
    showsTools: entrance.showsTools ?? false,
    stored,
    recall: null,
    passages: [],
    remember: null,
    tools: null,
    missingTools: [],
    thoughts: new Map(),
    thoughtBytes: 0,
    signatures: null,
    guardrails,
    answerGuard: null,
    request: {
      ...{ operation, model, stream, wantsUsage, choices, isBatch, compaction, viewWith, keptView },
      thinking: () => thinking,
    },
  };
}
