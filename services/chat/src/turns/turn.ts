import { toAppError, type AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { Model } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import type { AnswerView, Dialect, FrameSink, RequestHead, RequestSource } from '@gatehouse/dialects/dialect';
import { ProviderChain, type ObjectAnswer, type ProviderChainOptions } from '../providers/provider-chain.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { ActiveRun } from '../recording/active-run.ts';
import type { KeepAnswer, RunEnd } from '../runs/run.ts';
import type { OnAnswer } from '../memory/remembering.ts';
import type { AnswerSink } from './answer-sink.ts';
import { ToolLoop, type ToolLoopOptions } from '../tools/tool-loop.ts';
import type { TurnTools } from '../tools/tools.ts';
import { withoutOwn, type CallReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import type { TurnReasoning } from './turn-reasoning.ts';

export interface TurnOptions {
  dialect: Dialect;
  /** Headers of the client that its API passes on. */
  headers: Readonly<Record<string, string>>;
  request: RequestHead;
  source: RequestSource;
  target: Target;
  run: ActiveRun;
  /** The most tokens of an answer that a budget allows; null where the request's own limit counts. */
  maxTokens: number | null;
  unpricedTools: ProviderChainOptions['unpricedTools'];
  /** Headers of the answer about limits: `x-ratelimit-*`, `x-gateway-max-tokens`. */
  limitHeaders: Record<string, string>;
  providers: ProviderRegistry;
  log: Logger;
  /** Gets the text of the answer once the run has ended well. */
  onAnswer: OnAnswer | null;
  /** Keeps the answer, and shows it as it is kept; null where it is not kept. */
  kept: { keep: KeepAnswer; view: AnswerView } | null;
  /** Tools that the gateway calls; null without any. */
  tools: (TurnTools & Pick<ToolLoopOptions, 'admitMore' | 'callEnded' | 'callIds'>) | null;
  /** Thoughts that the client's API has no place for; null where it has, or none is translated. */
  thoughts: TurnReasoning | null;
  /** The origins of signatures that the client has, or gets; null where there is one origin. */
  signatures: SignatureOrigins | null;
}

/** One turn of a completion whose request has passed every check and limit (see `beginTurn`). */
export class Turn {
  readonly #options: TurnOptions;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  get runId(): string {
    return this.#options.run.identity.id;
  }

  get traceId(): string {
    return this.#options.run.identity.traceId;
  }

  get limitHeaders(): Record<string, string> {
    return this.#options.limitHeaders;
  }

  /** Calls the providers, delivers the answer, and ends the run if one began. Throws what `AnswerSink.fail` throws. */
  async complete(sink: AnswerSink): Promise<void> {
    const { dialect, request, run, onAnswer } = this.#options;
    try {
      const answer = await this.#calls(sink).answer();
      // The end of the run is committed before the last byte of its answer is sent.
      if (answer.kind === 'object') {
        const shown = await this.#shown(answer);
        await this.#keepThoughts(answer.thoughts);
        const keeps = await this.#keep(answer.model, (view) =>
          view.whole(answer.bytes, run.identity.tenantId, answer.model),
        );
        this.#logEnd(await run.finish('ok', { answer: sink.stored?.(shown, run.identity), keeps }));
        sink.sendObject(shown);
      } else {
        const { view } = request;
        const stream = sink.openStream(answer.model);
        await answer.passTo(view === undefined ? stream : viewedThrough(view, stream));
        await this.#keepThoughts(answer.thoughts);
        // A dialect whose answers are kept has usage unasked.
        const frames = this.#options.kept === null ? null : answer.endFrames(null);
        const keeps = await this.#keep(answer.model, (kept) =>
          Promise.resolve(dialect.state?.endOf((frames ?? []).map((frame) => kept.frame(frame))) ?? null),
        );
        const end = await run.finish('ok', { keeps });
        this.#logEnd(end);
        const last = frames ?? answer.endFrames(request.wantsUsage && end !== null ? end.usage : null);
        sink.endStream(view === undefined ? last : last.map((frame) => view.frame(frame)));
      }
      onAnswer?.({ runId: run.identity.id, text: answer.text });
    } catch (error) {
      await this.#giveUp(sink, error);
    } finally {
      sink.close();
      run.release();
    }
  }

  #calls(receiver: AnswerSink): ProviderChain | ToolLoop {
    const { dialect, request, source, target, run, providers, onAnswer, tools } = this.#options;
    const { tenantId } = run.identity;
    const { maxTokens, unpricedTools, headers, thoughts, signatures } = this.#options;
    const keepsText = onAnswer !== null;
    const { name: api } = dialect;
    const chain = {
      api,
      request,
      source: thoughts === null ? source : releasingBoth(source, thoughts),
      target,
      tenantId,
      providers,
      receiver,
      keepsText,
      maxTokens,
      unpricedTools,
      headers,
      signatures,
      thoughts: thoughts?.known ?? noThoughts,
    };
    if (tools === null) return new ProviderChain({ ...chain, record: run });
    const { admitMore, callEnded, callIds } = tools;
    return new ToolLoop({ dialect, chain, run, tools, admitMore, callEnded, callIds });
  }

  /** Writes the answer if it is to be kept; says whether it was. `shownIn` is the answer; null if it broke off. */
  async #keep(model: Model, shownIn: (view: AnswerView) => Promise<Buffer | null>): Promise<boolean> {
    const { kept, run } = this.#options;
    const answer = kept === null ? null : await shownIn(kept.view);
    if (kept === null || answer === null) return false;
    await kept.keep(answer, { id: run.identity.id, ageMs: run.ageMs, provider: model.provider.name });
    return true;
  }

  /** The client sees no calls of the gateway's tools, so thoughts before one belong to the next of its own. */
  async #keepThoughts(answered: readonly CallReasoning[]): Promise<void> {
    const { thoughts, tools, run, log } = this.#options;
    const calls = thoughts === null ? [] : withoutOwn(answered, (name) => tools?.byName.has(name) === true);
    if (thoughts === null || calls.length === 0) return;
    const { id, requestId } = run.identity;
    await thoughts.keep(calls, { id, ageMs: run.ageMs }).catch((error: unknown) => {
      log.warn(
        { err: error, request_id: requestId, run_id: id },
        'failed to keep thoughts for the next request',
      );
    });
  }

  async #shown(answer: ObjectAnswer): Promise<ObjectAnswer> {
    const { request, run } = this.#options;
    if (request.view === undefined) return answer;
    const { bytes, model } = answer;
    return { ...answer, bytes: await request.view.whole(bytes, run.identity.tenantId, model) };
  }

  async #giveUp(sink: AnswerSink, thrown: unknown): Promise<void> {
    const { run, dialect } = this.#options;
    const failure = thrown instanceof ProviderFailure ? thrown : null;
    const error = failure?.toAppError({ keepsBody: dialect.keepsErrorBodies }) ?? toAppError(thrown);
    this.#logEnd(await this.#end(failure, error));
    sink.fail(error, { cause: failure === null ? thrown : error, hasRun: run.calls > 0 });
  }

  #end(failure: ProviderFailure | null, error: AppError): Promise<RunEnd | null> {
    const { run } = this.#options;
    if (failure?.kind === 'aborted') return run.finish('cancelled');
    if (failure?.kind === 'interrupted') return run.finish('interrupted');
    return run.finish('error', { error });
  }

  /** A run that went well is in its trace, and the edge logs the request: a second line would only cost time. */
  #logEnd(end: RunEnd | null): void {
    if (end === null) return;
    const { run, log } = this.#options;
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

const noThoughts: TurnReasoning['known'] = new Map();

/** No provider call needs the known thoughts once it needs the request no more. */
function releasingBoth(source: RequestSource, thoughts: TurnReasoning): RequestSource {
  return {
    get bytes(): number {
      return source.bytes;
    },
    rewritten: (rewrite) => source.rewritten(rewrite),
    copied: (bytes) => source.copied(bytes),
    droppedFields: (model) => source.droppedFields?.(model) ?? [],
    release: () => {
      thoughts.release();
      source.release();
    },
  };
}

/** A sink that gets each frame as the client is to see it. */
function viewedThrough(view: AnswerView, sink: FrameSink): FrameSink {
  return {
    write: (frames) => sink.write(frames.map((frame) => view.frame(frame))),
    onDrain: (listener) => {
      sink.onDrain(listener);
    },
  };
}
