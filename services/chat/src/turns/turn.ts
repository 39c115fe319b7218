import { toAppError, type AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { AnswerReceiver } from '../providers/answer-receiver.ts';
import type { ObjectAnswer } from '../providers/object-answer.ts';
import type { ProviderChainOptions } from '../providers/provider-chain-options.ts';
import { ProviderChain } from '../providers/provider-chain.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { StreamAnswer } from '../providers/stream-answer.ts';
import type { FrameSink } from '@gatehouse/dialects/dialect';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { RunEnd, RunStatus, StoreAnswer } from '../runs/run.ts';
import type { Model } from '../catalogue/catalogue.ts';
import type { ToolContent } from '../run-content/tool-content.ts';
import { ToolLoop, type LoopedStream } from '../tools/tool-loop.ts';
import type { AnswerFilter, AnswerStage, StartedTurn, TurnInput, TurnStage } from './turn-stage.ts';

/**
 * Takes the answer of a turn to its receiver: an HTTP client, or a collecting caller. A turn calls `sendObject`, or
 * `openStream` and `endStream`, or `fail`, and last of all `close`.
 */
export interface AnswerSink extends AnswerReceiver {
  /** Stores a whole answer in the transaction at the end of its run. */
  readonly stored?: StoreAnswer | undefined;
  /** Delivers a whole answer. Its run has ended. */
  sendObject(answer: ObjectAnswer): void;
  /** The receiver of the chunks of a streamed answer. */
  openStream(model: Model): FrameSink;
  /** Completes the stream with these frames. Its run has ended. */
  endStream(lastFrames: readonly Buffer[]): void;
  /** Reports an error. Throws it if nothing was sent yet and the receiver is there: the caller answers with it then. */
  fail(error: AppError, failure: TurnFailure): void;
  /** The turn is over. */
  close(): void;
}

export interface TurnFailure {
  /** The thrown value. */
  cause: unknown;
  /** Whether a provider was called, so there is a run. */
  hasRun: boolean;
}

export interface AnswerDependencies {
  stages: readonly TurnStage[];
  providers: ProviderRegistry;
  log: Logger;
}

/** One turn of a completion after its request has passed every check and limit (see `startTurn`). */
export class Turn {
  readonly #dependencies: AnswerDependencies;
  readonly #turn: StartedTurn;
  readonly #leave: () => void;
  #input: TurnInput | null;

  /** `leave` is called when the turn is over. `input` is in memory until the stages have read it. */
  constructor(
    dependencies: AnswerDependencies,
    turn: StartedTurn,
    { leave, input }: { leave: () => void; input: TurnInput | null },
  ) {
    this.#dependencies = dependencies;
    this.#turn = turn;
    this.#leave = leave;
    this.#input = input;
  }

  get runId(): string {
    return this.#turn.run.identity.id;
  }

  get traceId(): string {
    return this.#turn.run.identity.traceId;
  }

  get streams(): boolean {
    return this.#turn.request.stream;
  }

  /** Whether a provider was called: then the request is a run, whatever it is answered. */
  get hasRun(): boolean {
    return this.#turn.run.calls > 0;
  }

  /** Aborts when the answer is no longer wanted. */
  get signal(): AbortSignal {
    return this.#turn.signal;
  }

  get limitHeaders(): Record<string, string> {
    return this.#turn.limitHeaders;
  }

  /** Calls the providers, delivers the answer, and ends the run if one began. Throws what `AnswerSink.fail` throws. */
  async complete(sink: AnswerSink): Promise<void> {
    const { stages } = this.#dependencies;
    const turn = this.#turn;
    try {
      const changing = this.#changeRequest();
      if (changing !== undefined) await changing;
      const answer = await this.#calls(sink).answer();
      const parts = stages.map((stage) => stage.answer?.(turn) ?? null).filter((part) => part !== null);
      // The end of the run is committed before the last byte of its answer is sent.
      if (answer.kind === 'object') await this.#sendObject(answer, parts, sink);
      else await this.#stream(answer, parts, sink);
      const text = turn.answerGuard?.text ?? answer.text;
      for (const stage of stages) stage.ended?.(turn, { text });
    } catch (error) {
      await this.#giveUp(sink, error);
    } finally {
      sink.close();
      turn.run.release();
      turn.content?.release();
      this.#leave();
    }
  }

  /** Lets every stage change the request. Not part of `complete`, which would keep it as long as the run lasts. */
  #changeRequest(): Promise<void> | undefined {
    const input = this.#input;
    this.#input = null;
    return input === null ? undefined : changeRequest(this.#dependencies.stages, this.#turn, input);
  }

  #calls(receiver: AnswerSink): ProviderChain | ToolLoop {
    const { providers } = this.#dependencies;
    const { tools, admitMore, dialect, run, admission, content } = this.#turn;
    const chain = { ...chainOptionsOf(this.#turn), providers, receiver };
    if (tools === null || admitMore === null) return new ProviderChain({ ...chain, record: run });
    const callEnded = (): void => admission.reservation.lessen();
    const called = (call: ToolContent): void => content?.addTool(call);
    return new ToolLoop({ dialect, chain, run, tools, admitMore, callEnded, called });
  }

  async #sendObject(answer: ObjectAnswer, parts: readonly AnswerStage[], sink: AnswerSink): Promise<void> {
    const { run } = this.#turn;
    let visible = answer;
    for (const { complete, filter } of parts) {
      await complete?.({ ...visible, thoughts: this.#thoughtsOf(answer), lastFrames: () => [] });
      if (filter) visible = { ...visible, bytes: await filter.whole(visible.bytes, answer.model) };
    }
    const keeps = this.#turn.isStored;
    this.#logEnd(await run.finish(this.#status, { answer: sink.stored?.(visible, run.identity), keeps }));
    sink.sendObject(visible);
  }

  async #stream(
    answer: StreamAnswer | LoopedStream,
    parts: readonly AnswerStage[],
    sink: AnswerSink,
  ): Promise<void> {
    const { run, request } = this.#turn;
    const filters = parts.map(({ filter }) => filter ?? null);
    const stream = sink.openStream(answer.model);
    let frames = await this.#pass(answer, filters, stream);
    const shownBy = (last: readonly Buffer[], stages: number): readonly Buffer[] =>
      filters.slice(0, stages).reduce((frames, filter) => filter?.lastFrames(frames) ?? frames, last);
    for (const [index, { complete }] of parts.entries())
      await complete?.({
        ...{ model: answer.model, thoughts: this.#thoughtsOf(answer), bytes: null },
        // A dialect with stored answers has usage unasked.
        lastFrames: () => shownBy((frames ??= answer.endFrames(null)), index),
      });
    const end = await run.finish(this.#status, { keeps: this.#turn.isStored });
    this.#logEnd(end);
    const last = frames ?? answer.endFrames(request.wantsUsage && end !== null ? end.usage : null);
    sink.endStream(shownBy(last, filters.length));
  }

  /**
   * Passes a stream through the filters. Frames held when it fails go on before its error. Returns its last frames; null if
   * they depend on the end of its run.
   */
  async #pass(
    answer: StreamAnswer | LoopedStream,
    filters: readonly (AnswerFilter | null)[],
    stream: FrameSink,
  ): Promise<readonly Buffer[] | null> {
    const { signal, request } = this.#turn;
    const holding = filters.find((filter) => filter?.end !== undefined) ?? null;
    try {
      await answer.passTo(filters.reduceRight((next, filter) => filter?.stream(next) ?? next, stream));
    } catch (error) {
      if (!signal.aborted) await holding?.end?.([]);
      if (holding?.isOver !== true) throw error;
    }
    if (holding === null) return null;
    // Usage adds frames without text.
    const last = holding.isOver === true ? [] : answer.endFrames(request.wantsUsage ? noUsage : null);
    await holding.end?.(last);
    if (holding.isOver === true) return holding.endFrames?.() ?? [];
    return request.wantsUsage ? null : last;
  }

  /** A blocked answer is not continued, so nothing of its reasoning is stored. */
  #thoughtsOf({ thoughts }: Pick<ObjectAnswer, 'thoughts'>): ObjectAnswer['thoughts'] {
    return this.#status === 'blocked' ? [] : thoughts;
  }

  get #status(): 'ok' | 'blocked' {
    return this.#turn.guardrails?.isAnswerBlocked === true ? 'blocked' : 'ok';
  }

  async #giveUp(sink: AnswerSink, thrown: unknown): Promise<void> {
    const failure = thrown instanceof ProviderFailure ? thrown : null;
    const error = failure?.toAppError() ?? toAppError(thrown);
    this.#logEnd(await this.#end(failure, error));
    for (const stage of this.#dependencies.stages) stage.ended?.(this.#turn, { error });
    sink.fail(error, { cause: failure === null ? thrown : error, hasRun: this.hasRun });
  }

  #end(failure: ProviderFailure | null, error: AppError): Promise<RunEnd | null> {
    const { run } = this.#turn;
    if (failure?.kind === 'aborted') return run.finish('cancelled');
    if (failure?.kind === 'interrupted') return run.finish('interrupted');
    return run.finish(statusOf(error), { error });
  }

  /** A successful run is in its trace, and the edge logs the request: a second line would only cost time. */
  #logEnd(end: RunEnd | null): void {
    if (end === null) return;
    const { run } = this.#turn;
    const { log } = this.#dependencies;
    const { identity } = run;
    const level = end.status === 'ok' ? 'debug' : 'info';
    if (!log.isLevelEnabled(level)) return;
    log[level](
      {
        request_id: identity.requestId,
        trace_id: identity.traceId,
        run_id: identity.id,
        tenant_id: identity.tenantId,
        status: end.status,
        provider: end.provider,
        model: end.model,
        calls: run.calls,
        duration_ms: end.durationMs,
        input_tokens: end.usage.inputTokens,
        output_tokens: end.usage.outputTokens,
        error: end.errorType,
      },
      'run ended',
    );
  }
}

async function changeRequest(
  stages: readonly TurnStage[],
  turn: StartedTurn,
  input: TurnInput,
): Promise<void> {
  for (const stage of stages) {
    const pending = stage.request?.(turn, input);
    if (pending !== undefined) await pending;
  }
}

function statusOf({ code }: AppError): RunStatus {
  if (code === 'run_stopped') return 'cancelled';
  return code === 'content_blocked' ? 'blocked' : 'error';
}

/** The parts of a turn that its provider calls need. */
function chainOptionsOf(
  turn: StartedTurn,
): Omit<ProviderChainOptions, 'providers' | 'receiver' | 'record' | 'tools'> {
  return {
    api: turn.dialect.name,
    request: turn.request,
    source: turn.source,
    target: turn.target,
    forms: new Set(),
    tenantId: turn.run.identity.tenantId,
    keepsText: turn.remember !== null,
    maxTokens: turn.maxTokens,
    admitModel: turn.admitModel,
    headers: turn.headers,
    signatures: turn.signatures,
    thoughts: turn.thoughts,
    leftOut: turn.stored?.leftOut ?? [],
    unpricedTools: turn.unpricedTools,
    writesSummaries: turn.guardrails?.isChanging,
  };
}
