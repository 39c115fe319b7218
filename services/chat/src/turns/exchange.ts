import type { ServerResponse } from 'node:http';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { sleep } from '@gatehouse/kit/clock';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import { logFailure, type Logger } from '@gatehouse/kit/log';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Breaker } from '../providers/breaker.ts';
import type { Model } from '../catalogue/catalogue.ts';
import type { RequestHead } from '../openai/completion-request.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { retryDelay } from '../providers/retry-delay.ts';
import type { RunEnd } from '../runs/run.ts';
import { StreamReader } from '../openai/stream-reader.ts';
import type { Target } from '../catalogue/target.ts';
import type { TextSample } from '../openai/token-estimate.ts';
import { readUnaryAnswer } from '../providers/unary-answer.ts';
import { noUsage } from '../openai/usage.ts';
import type { ProviderCall } from '../providers/adapter.ts';
import type { AnswerBudget, AnswerClient, AnswerRoom } from '../providers/answer-budget.ts';
import type { Deployment, ProviderRegistry } from '../providers/registry.ts';
import type { ActiveRun } from '../runs/active-run.ts';
import { ClientStream, keepAliveMs } from '../delivery/client-stream.ts';
import { relayStream } from '../delivery/relay-stream.ts';
import type { RequestSource } from '../openai/request-source.ts';

export interface ExchangeOptions {
  request: RequestHead;
  source: RequestSource;
  target: Target;
  run: ActiveRun;
  response: ServerResponse;
  requestId: string;
  trace: TraceContext;
  providers: ProviderRegistry;
  answers: AnswerBudget;
  log: Logger;
  /** Sent with every answer. */
  headers: Record<string, string>;
  /** Shorter in tests. */
  silenceMs?: number;
}

/** What became of one provider call. */
type Outcome = { kind: 'delivered' } | { kind: 'failed'; failure: ProviderFailure };

/**
 * One client request on its way through the providers: tries the models of the chain, retries what may succeed when
 * made again, and delivers the first answer. Nothing is tried again once the client has got a byte.
 */
export class Exchange implements AnswerClient {
  readonly #options: ExchangeOptions;
  readonly #gone = new AbortController();
  #stream: ClientStream | null = null;
  /** Of the answer to the newest call. */
  #room: AnswerRoom | null = null;
  /** What a failed stream had said so far. */
  #answer: TextSample | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const { response } = options;
    const leave = (): void => {
      this.#room?.close();
      if (!response.writableFinished) this.#gone.abort(new Error('the client left'));
    };
    // Gone while its body was read or its agent looked up: the event has been and will not come again.
    if (response.destroyed) leave();
    else response.on('close', leave);
  }

  /** Answers the client, and ends the run if one began. Throws only before anything was sent to the client. */
  async execute(): Promise<void> {
    try {
      const failure = await this.#tryChain();
      if (failure !== null)
        await this.#giveUp(failure.kind === 'aborted' ? 'cancelled' : 'error', failure.toAppError());
    } catch (error) {
      await this.#giveUp('error', toAppError(error), error);
    } finally {
      this.#stream?.abandon();
      this.#options.run.release();
      if (this.#options.response.closed) this.#room?.close();
    }
  }

  /** See {@link AnswerClient}: other answers wait for the memory that this one takes. */
  cut(): void {
    const { response, log, requestId } = this.#options;
    log.warn({ request_id: requestId }, 'closed a slow connection: other large answers wait for its memory');
    response.destroy();
  }

  /** Null when an answer was delivered, else the failure of the last call. */
  async #tryChain(): Promise<ProviderFailure | null> {
    let failure: ProviderFailure | null = null;
    const { source, target } = this.#options;
    const { chain } = target;
    for (const [index, model] of chain.entries()) {
      const deployment = this.#options.providers.get(model);
      for (let retry = 0; this.#isWorthACall(deployment, index); retry += 1) {
        const outcome = await this.#attempt(model, deployment);
        if (outcome.kind === 'delivered') return null;
        failure = outcome.failure;
        const begun = this.#stream?.begun === true || source.isReleased;
        if (begun || !failure.fallbackHelps) return failure;
        if (!failure.retryable || retry >= model.provider.max_retries) break;
        const delay = retryDelay(retry, failure.details.retryAfterMs);
        if (delay === null) break;
        if (!(await this.#pause(delay))) return new ProviderFailure('aborted', model.provider.name);
      }
    }
    return failure;
  }

  /** Skips the model at `index` if its breaker is open and that of a later model of the chain is closed. */
  #isWorthACall({ breaker }: Deployment, index: number): boolean {
    const { providers, target } = this.#options;
    if (breaker.admits(this.#tenantId)) return true;
    const later = target.chain.slice(index + 1);
    return later.every((model) => providers.get(model).breaker.isOpenFor(this.#tenantId));
  }

  get #tenantId(): string {
    return this.#options.run.identity.tenantId;
  }

  async #attempt(model: Model, deployment: Deployment): Promise<Outcome> {
    const { request, source, target, run } = this.#options;
    // Left already: no call, and so no run.
    if (this.#clientLeft())
      return { kind: 'failed', failure: new ProviderFailure('aborted', model.provider.name) };
    const asksUsage = request.stream && model.provider.stream_usage;
    const body = source.rewritten({
      model: model.upstreamModel,
      includeUsage: asksUsage && !request.wantsUsage,
      systemPrompt: target.systemPrompt,
      defaults: target.defaults,
    });
    let trace: TraceContext;
    try {
      trace = await run.startAttempt(model, body.length);
    } catch (error) {
      // Whether the start was written is unknown, so an end follows it; nobody has to wait for that one.
      void this.#endFailed('error', toAppError(error));
      throw error;
    }
    if (this.#clientLeft()) {
      await run.endAttempt({ status: 'not_sent', usage: noUsage });
      return { kind: 'failed', failure: new ProviderFailure('aborted', model.provider.name) };
    }
    // Releases what the call before held. A delivered answer keeps its room until the response closes.
    this.#room?.close();
    this.#room = this.#options.answers.open(this.#tenantId);
    this.#room.client = this;
    const call: ProviderCall = {
      room: this.#room,
      operation: request.operation,
      body,
      trace,
      signal: this.#gone.signal,
      onHeaders: () => this.#providerAccepted(model),
    };
    return request.stream
      ? this.#attemptStream(model, deployment, call)
      : this.#attemptUnary(model, deployment, call);
  }

  /** A method, because what it tells changes while we wait. */
  #clientLeft(): boolean {
    return this.#gone.signal.aborted;
  }

  async #attemptUnary(model: Model, { adapter, breaker }: Deployment, call: ProviderCall): Promise<Outcome> {
    const { run, response, source } = this.#options;
    try {
      const bytes = await adapter.complete(call);
      const answer = readUnaryAnswer(model.provider.name, bytes);
      source.release();
      breaker.answered(this.#tenantId);
      breaker.succeeded(this.#tenantId);
      run.noteFirstToken();
      await run.endAttempt({
        status: 'ok',
        httpStatus: 200,
        responseModel: answer.responseModel,
        usage: answer.usage,
        serviceTier: answer.serviceTier,
        answer: answer.answer,
      });
      this.#logEnd(await run.finish('ok', { answer: answer.answer }));
      response.writeHead(200, {
        ...this.#answerHeaders(model),
        'content-type': 'application/json',
        'content-length': bytes.length,
      });
      this.#room?.waitForClient(true);
      response.end(bytes);
      return { kind: 'delivered' };
    } catch (error) {
      return this.#failed(breaker, error, null);
    }
  }

  async #attemptStream(model: Model, { adapter, breaker }: Deployment, call: ProviderCall): Promise<Outcome> {
    const { run, request, source: text } = this.#options;
    const reader = new StreamReader(request.choices);
    try {
      const source = await adapter.stream(call);
      const client = this.#clientStream(model);
      const { usageFrame } = await relayStream({
        provider: model.provider.name,
        source,
        reader,
        client,
        wantsUsage: request.wantsUsage,
        onAnswer: () => {
          run.noteFirstToken();
          breaker.answered(this.#tenantId);
          text.release();
        },
      });
      breaker.succeeded(this.#tenantId);
      await run.endAttempt({
        status: 'ok',
        httpStatus: 200,
        responseModel: reader.responseModel,
        usage: reader.usage,
        serviceTier: reader.serviceTier,
        answer: reader.answer,
      });
      const end = await run.finish('ok', { answer: reader.answer });
      this.#logEnd(end);
      const owed = request.wantsUsage && end !== null ? [usageFrame ?? reader.usageChunk(end.usage)] : [];
      client.finish(owed);
      return { kind: 'delivered' };
    } catch (error) {
      return this.#failed(breaker, error, reader);
    }
  }

  async #failed(breaker: Breaker, error: unknown, reader: StreamReader | null): Promise<Outcome> {
    if (!(error instanceof ProviderFailure)) throw error;
    if (error.blame !== null) breaker.failed(this.#tenantId, error.blame);
    await this.#options.run.failAttempt(error, reader?.begun === true ? reader : null);
    if (reader?.begun === true) this.#answer = reader.answer;
    return { kind: 'failed', failure: error };
  }

  /** Ends the run and tells the client, in whichever way it can still be told. */
  async #giveUp(status: 'cancelled' | 'error', error: AppError, cause: unknown = error): Promise<void> {
    const { run, requestId, log } = this.#options;
    this.#logEnd(await this.#endFailed(status, error));
    if (this.#stream?.begun === true) {
      logFailure(log, { request_id: requestId, run_id: run.identity.id }, cause);
      this.#stream.fail(error, requestId);
    } else if (!this.#gone.signal.aborted) {
      const { headers } = this.#options;
      throw withHeaders(error, run.calls > 0 ? this.#runHeaders() : headers);
    }
  }

  async #endFailed(status: 'cancelled' | 'error', error: AppError): Promise<RunEnd | null> {
    const { run } = this.#options;
    // A request that got as far as no attempt was never written down: there is nothing to end.
    if (!run.begun) return null;
    await run.endAttempt({ status: 'error', errorCode: error.code, usage: null });
    return run.finish(status, {
      error: status === 'error' ? error : undefined,
      answer: this.#answer,
    });
  }

  #providerAccepted(model: Model): void {
    this.#options.run.noteAccepted();
    if (this.#options.request.stream) this.#clientStream(model);
  }

  #clientStream(model: Model): ClientStream {
    const headers = this.#answerHeaders(model);
    this.#stream ??= new ClientStream(
      this.#options.response,
      headers,
      this.#options.silenceMs ?? keepAliveMs,
    );
    this.#stream.setHeaders(headers);
    return this.#stream;
  }

  #answerHeaders(model: Model): Record<string, string> {
    return {
      ...this.#runHeaders(),
      'x-gateway-provider': model.provider.name,
      'x-gateway-model': headerText(model.id),
    };
  }

  #runHeaders(): Record<string, string> {
    const { headers, run, trace, requestId } = this.#options;
    return {
      ...headers,
      [requestIdHeader]: requestId,
      'x-run-id': run.identity.id,
      'x-trace-id': trace.traceId,
    };
  }

  /** False when the client left meanwhile. */
  async #pause(ms: number): Promise<boolean> {
    return sleep(ms, this.#gone.signal).then(
      () => true,
      () => false,
    );
  }

  #logEnd(end: RunEnd | null): void {
    if (end === null) return;
    const { run, requestId, log } = this.#options;
    log.info(
      {
        request_id: requestId,
        trace_id: run.identity.traceId,
        run_id: run.identity.id,
        tenant_id: run.identity.tenantId,
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

/** Model ids come from the operator's file and may hold what a header can't. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}

function withHeaders(error: AppError, headers: Record<string, string>): AppError {
  return new AppError(error.code, error.message, {
    param: error.param ?? undefined,
    publicCode: error.publicCode,
    headers: { ...error.headers, ...headers },
    cause: error.cause,
  });
}
