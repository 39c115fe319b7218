import { sleep } from '@gatehouse/kit/clock';
import type { Model } from '../catalogue/catalogue.ts';
import { rulesNameOf, takenDefaults, tokenLimitOf } from '../catalogue/facts-by.ts';
import { AppError } from '@gatehouse/kit/errors';
import type { TranslatedAnswer, Translation } from '@gatehouse/dialects/translation/translation';
import type { AnswerFormat } from '@gatehouse/dialects/dialect';
import { dialectOf, dialects } from '@gatehouse/dialects/dialects';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { ProviderCall } from './adapter.ts';
import { FramePipe } from './frame-pipe.ts';
import {
  toClientFailure,
  orRefusal,
  translationFor,
  translatedRequest,
  type PreparedBody,
} from './call-translation.ts';
import { fittedBody } from './fitted-body.ts';
import type { KeyRotation } from './key-pool.ts';
import { OpenCall, type Calling } from './open-call.ts';
import type { ObjectAnswer } from './object-answer.ts';
import type { ProviderChainOptions } from './provider-chain-options.ts';
import { isUnknownName } from './missing-deployments.ts';
import { OwnSummaries } from './missing-methods.ts';
import { accountOf, originBy, vendorOf } from './signature-origins.ts';
import { CallBetas } from './model-betas.ts';
import { ProviderFailure, sooner } from './provider-failure.ts';
import { secretsIn } from './repeated-secrets.ts';
import { Refusals } from './refusals.ts';
import { Repeats } from './retry-delay.ts';
import { StreamAnswer } from './stream-answer.ts';
import { readUnaryAnswer } from './unary-handler.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

type Prepared = PreparedBody | AppError;
type CallRoute = Pick<Calling, 'translation' | 'rotation' | 'headers'>;
type ClientAnswer = TranslatedAnswer | ProviderFailure;
export type Answer = ObjectAnswer | StreamAnswer;

/**
 * The provider calls of one request: tries the models of its target in order, retries calls with a chance of success,
 * and answers with an object or a stream.
 */
export class ProviderChain {
  readonly #options: ProviderChainOptions;
  readonly #summaries: OwnSummaries;
  readonly #betas: CallBetas;
  readonly #refusals: Refusals;
  #maxTokens: number | null;

  constructor(options: ProviderChainOptions) {
    this.#options = options;
    this.#maxTokens = options.maxTokens;
    const { api, request, providers, tenantId } = options;
    this.#betas = new CallBetas(options.target, options.headers, options.tools !== undefined);
    this.#summaries = new OwnSummaries(api, request, {
      ...{ missing: providers.missing, tenantId, areAll: options.writesSummaries === true },
    });
    this.#refusals = new Refusals(options);
  }

  /**
   * The first answer. Throws the `ProviderFailure` of the last call, why a call could not be recorded, or the 400 of a
   * request no model's API can express; models with an API unfit for it are passed over.
   */
  async answer(): Promise<Answer> {
    let failure: ProviderFailure | null = null;
    let refusal: AppError | null = null;
    const { target, providers, receiver } = this.#options;
    for (const [index, model] of target.chain.entries()) {
      if (isUnknownName(failure, target.chain[index - 1], model)) break;
      const repeats = new Repeats(model.provider.max_retries);
      while (this.#isWorthACall(index)) {
        const barred = await this.#barred(model);
        if (barred !== null) {
          refusal ??= barred;
          this.#options.record.passOver(model, barred);
          break;
        }
        const last = await this.#attempt(model);
        if (repeats.mends(() => this.#isMendedAfter(last, model))) continue;
        const outcome = this.#refusals.reported(last);
        if (outcome instanceof AppError) {
          refusal ??= outcome;
          this.#options.record.passOver(model, outcome);
          break;
        }
        if (!(outcome instanceof ProviderFailure)) {
          this.#summaries.answered(model);
          providers.answered(model, target);
          return outcome;
        }
        failure = sooner(failure, outcome);
        if (receiver.begun || !outcome.fallbackHelps) throw outcome;
        const delay = repeats.after(outcome);
        if (delay === null) break;
        await sleep(delay, receiver.signal).catch(() => undefined);
        if (this.#isAborted()) throw ProviderFailure.aborted(model.provider.name, receiver.signal);
      }
    }
    throw failure ?? refusal ?? new Error('the target has no model');
  }

  /** The reason to pass the model over: its policies have no room for a call. */
  async #barred(model: Model): Promise<AppError | null> {
    const { admitModel = null, receiver } = this.#options;
    if (admitModel === null) return null;
    const admitted = await admitModel(model).catch((error: unknown) => {
      throw this.#isAborted() ? ProviderFailure.aborted(model.provider.name, receiver.signal) : error;
    });
    if (admitted instanceof AppError) return admitted;
    this.#maxTokens = admitted.maxTokens;
    return null;
  }

  /** Whether the model is called once more, before any other, with a changed request. */
  #isMendedAfter(outcome: unknown, model: Model): boolean {
    return this.#summaries.isNeededAfter(outcome, model) || this.#refusals.isNeededAfter(outcome, model);
  }

  #translationFor(model: Model, rotation: KeyRotation | null): Translation | null {
    const { api, request, providers, tenantId, record } = this.#options;
    const translatesOwn = this.#refusals.translates || this.#summaries.has(model);
    if (request.operation !== 'chat' || (model.api === api && !translatesOwn)) return null;
    const { reasoningFill, countUnreadable: count, names, isOfVendor } = this.#refusals;
    return translationFor(api, model, {
      macs: providers.signatureMacs(tenantId),
      account: () => accountOf(model, rotation?.key?.id ?? null),
      ...{ sealSummary: request.sealSummary, translatesOwn, isOfVendor, record, reasoningFill },
      unreadable: { vendor: vendorOf(model), count },
      betas: this.#betas.of(model, true, names),
    });
  }

  #isNative(model: Model): boolean {
    return model.api === this.#options.api && !this.#summaries.has(model);
  }

  /** The operation of a model's call. */
  #operationAt(model: Model): ProviderCall['operation'] {
    const { compaction, operation } = this.#options.request;
    return compaction === 'path' && this.#isNative(model) ? 'compact' : operation;
  }

  /** Skips the model at `index` if its breaker is open and a later model's is closed. */
  #isWorthACall(index: number): boolean {
    const { target, tenantId, providers } = this.#options;
    const callOf = (model: Model) => ({ operation: this.#operationAt(model), tenantId });
    const model = target.chain[index] ?? target.chain[0];
    if (providers.get(model).breaker.admits(callOf(model))) return true;
    const later = target.chain.slice(index + 1);
    return later.every((other) => providers.get(other).breaker.isOpenFor(callOf(other)));
  }

  async #attempt(model: Model): Promise<Answer | ProviderFailure | AppError> {
    const { api, request, target, record, receiver, tenantId, providers } = this.#options;
    const maxTokens = this.#maxTokens;
    // Without a call there is no run.
    if (this.#isAborted()) return ProviderFailure.aborted(model.provider.name, receiver.signal);
    this.#refusals.begin(model);
    const { adapter } = providers.get(model);
    const keys = providers.keysFor(model, { tenantId, ownKeys: target.ownKeys });
    const operation = this.#operationAt(model);
    const call = { operation, model: model.upstreamModel, tenantId, affinity: target.affinity };
    const rotation = keys?.selectKey(call) ?? null;
    if (rotation?.key === null) return rotation.exhausted;
    const translation = this.#translationFor(model, rotation);
    const headers = this.#betas.headers(model, translation !== null);
    const preparing = this.#prepared(model, { translation, rotation, headers });
    const prepared = preparing instanceof Promise ? await preparing : preparing;
    if (prepared instanceof AppError) return prepared;
    const lost = request.operation === 'chat' ? dialects[api].unsupportedDefaults(target.defaults) : [];
    const unpriced = this.#options.unpricedTools(model).map(({ type }) => `tools.${type}`);
    const without = [...lost, ...this.#refusals.ignored, ...unpriced, ...this.#betas.ignored(model)];
    const ignored = [...this.#options.leftOut, ...prepared.ignored, ...without];
    receiver.ignored?.(ignored.length > 1 ? [...new Set(ignored)] : ignored);
    const trace = await record.startAttempt(model, { bodyBytes: prepared.body.length, maxTokens });
    if (this.#isAborted()) {
      await record.endAttempt({ status: 'not_sent', usage: noUsage });
      return ProviderFailure.aborted(model.provider.name, receiver.signal);
    }
    const calling = { adapter, operation, rotation, translation, headers, trace, body: prepared.body };
    return request.stream ? this.#attemptStream(model, calling) : this.#attemptObject(model, calling);
  }

  /** The request for a model as its provider takes it, and a key of it; the 400 if its API can't express the request. */
  #prepared(model: Model, call: CallRoute): Prepared | Promise<Prepared> {
    const written = this.#written(model, call);
    if (written instanceof Promise) return written.then((body) => this.#fitted(model, call, body));
    return this.#fitted(model, call, written);
  }

  #fitted(model: Model, call: CallRoute, written: Prepared): Prepared | Promise<Prepared> {
    if (written instanceof AppError) return written;
    const { translation, headers } = call;
    const { providers, tenantId, source } = this.#options;
    const isTranslated = translation !== null;
    const whole = { ...written, ignored: [...(source.droppedFields?.(model) ?? []), ...written.ignored] };
    return fittedBody(providers.get(model).adapter, whole, {
      ...{ api: model.api, operation: this.#operationAt(model), rulesName: rulesNameOf(model), tenantId },
      ...{ headers, refused: this.#refusals.names, isTranslated, copied: (bytes) => source.copied(bytes) },
    });
  }

  #written(model: Model, { translation, rotation }: CallRoute): Prepared | Promise<Prepared> {
    const { api, request, source, target, tenantId, thoughts, providers, unpricedTools } = this.#options;
    const maxTokens = this.#maxTokens;
    const asksUsage = request.stream && model.provider.stream_usage;
    const taken = translation === null ? takenDefaults(model, this.#options) : null;
    const left = new Set<string>();
    const write = (): Pieces =>
      source.rewritten({
        api: translation === null ? model.api : api,
        isTranslated: translation !== null,
        model: model.upstreamModel,
        rulesName: model.family,
        reasons: model.reasoning,
        ...providers.signaturesFor(model, rotation, this.#options),
        onDropped: (name) => left.add(name),
        ...(translation === null && this.#refusals.rewrite),
        includeUsage: asksUsage && !request.wantsUsage,
        systemPrompt: target.systemPrompt,
        reference: target.reference,
        defaults: taken?.defaults ?? target.defaults,
        maxTokens: maxTokens === null ? null : tokenLimitOf(model, maxTokens),
        tools: this.#options.tools ?? null,
        bindsThinking: this.#betas.binds(model, translation !== null),
        withoutTools: new Set(unpricedTools(model).flatMap(({ billed }) => billed ?? [])),
      });
    if (translation !== null) {
      const written = { source, write, signal: this.#options.receiver.signal };
      return translatedRequest(translation, written, { tenantId, isStream: request.stream, thoughts });
    }
    source.copied(0);
    const body = orRefusal(write);
    return body instanceof AppError ? body : { body, ignored: [...left, ...(taken?.ignored ?? [])] };
  }

  /** Makes the call, with one key after the other where the provider has several. */
  #sent<Given>(model: Model, calling: Calling, send: (call: ProviderCall) => Promise<Given>): Promise<Given> {
    const { rotation } = calling;
    if (rotation === null) return send(this.#callOf(model, calling, { body: calling.body }));
    return rotation.sent(async (key) => {
      // Nothing keeps a sent request: for another key it is written again.
      const body = calling.body ?? (await this.#rewritten(model, calling));
      return send(this.#callOf(model, calling, { body, credentials: key?.credentials }));
    });
  }

  async #rewritten(model: Model, calling: Calling): Promise<Pieces> {
    this.#assertWanted(model);
    const prepared = await this.#prepared(model, calling);
    if (prepared instanceof AppError) throw prepared;
    return prepared.body;
  }

  #callOf(model: Model, calling: Calling, rest: Pick<ProviderCall, 'body' | 'credentials'>): ProviderCall {
    const { request, source, receiver } = this.#options;
    this.#assertWanted(model);
    calling.body = null;
    calling.sent = {
      room: receiver.openRoom(),
      api: model.api,
      model: model.upstreamModel,
      ...{ isBatch: request.isBatch, stream: request.stream },
      headers: calling.headers,
      ...rest,
      copied: (bytes) => source.copied(bytes),
      ...{ operation: calling.operation, trace: calling.trace, signal: receiver.signal },
      onHeaders: () => this.#accepted(model),
    };
    return calling.sent;
  }

  #assertWanted({ provider }: Model): void {
    const { signal } = this.#options.receiver;
    if (signal.aborted) throw ProviderFailure.aborted(provider.name, signal).asUnsent;
  }

  /** A method, since its result changes between two awaits. */
  #isAborted(): boolean {
    return this.#options.receiver.signal.aborted;
  }

  #accepted(model: Model): void {
    const { record, request, receiver } = this.#options;
    record.noteAccepted();
    if (request.stream) receiver.streamAccepted(model);
  }

  async #attemptObject(model: Model, calling: Calling): Promise<ObjectAnswer | ProviderFailure> {
    const { adapter, translation } = calling;
    const { signatures, source } = this.#options;
    const { name } = model.provider;
    const open = this.#openCall(model, calling);
    try {
      const given = await this.#sent(model, calling, (call) => adapter.complete(call));
      // The provider's own bytes are metered, so an untranslatable answer is charged as well.
      const isReadLater = translation !== null && dialectOf(model.api) === null;
      const format = this.#formatOf(model, isReadLater ? translation : null);
      const reading = isReadLater ? null : readUnaryAnswer({ name, format }, given, this.#options);
      const metered = reading instanceof Promise ? await reading : reading;
      const broken = metered?.broken ?? null;
      let ofClient: ClientAnswer = { bytes: given, thoughts: [] };
      if (broken !== null) ofClient = ProviderFailure.cut(name, broken);
      else if ((translation ?? signatures) !== null) ofClient = await this.#ofClient(model, calling, given);
      if (ofClient instanceof ProviderFailure) return await open.failed(ofClient, metered);
      const { bytes, thoughts } = ofClient;
      const answer = metered ?? (await readUnaryAnswer({ name, format }, bytes, this.#options));
      source.release();
      open.answered();
      const ending = open.succeeded(answer);
      if (ending instanceof Promise) await ending;
      return { kind: 'object', model, bytes, text: answer.text, thoughts };
    } catch (error) {
      return open.failed(toClientFailure(error, translation, this.#isNative(model)), null);
    }
  }

  /** An answer in the API of the client. */
  async #ofClient(model: Model, { translation, rotation }: Calling, given: Buffer): Promise<ClientAnswer> {
    const { signatures, tenantId } = this.#options;
    try {
      if (translation === null) {
        await signatures?.noteWhole(given, tenantId, originBy(model, rotation));
        return { bytes: given, thoughts: [] };
      }
      const translated = await translation.whole(given, tenantId);
      return 'bytes' in translated ? translated : ProviderFailure.cut(model.provider.name, translated);
    } catch (cause) {
      return new ProviderFailure('untranslatable', model.provider.name, { cause });
    }
  }

  async #attemptStream(model: Model, calling: Calling): Promise<StreamAnswer | ProviderFailure> {
    const { adapter, translation } = calling;
    const { request, source, keepsText, signatures } = this.#options;
    const { name } = model.provider;
    const open = this.#openCall(model, calling);
    const translated = translation?.stream() ?? null;
    let stream: FramePipe | null = null;
    const reader = this.#formatOf(model, translation).streamReader(request.choices, keepsText);
    try {
      const given = await this.#sent(model, calling, (call) => adapter.stream(call));
      const origin = originBy(model, calling.rotation);
      const see = signatures === null ? null : (frame: Buffer): void => signatures.note(frame, origin);
      const watched = translated === null ? { see } : { translation: translated };
      stream = new FramePipe(name, given, reader, watched);
      await stream.open();
      source.release();
      open.answered();
      return new StreamAnswer(model, stream, open);
    } catch (error) {
      return open.failed(
        toClientFailure(error, translation, this.#isNative(model)),
        stream?.begunAnswer ?? null,
      );
    }
  }

  /** The format of an answer once it is translated, which embeddings are later. */
  #formatOf({ api }: Model, translation: Translation | null): AnswerFormat {
    return (translation === null ? dialectOf(api) : null) ?? dialects[this.#options.api];
  }

  #openCall(model: Model, calling: Calling): OpenCall {
    const { tenantId, providers, record, request, target } = this.#options;
    const call = { operation: calling.operation, tenantId, choices: request.choices };
    const { breaker, calls } = providers.get(model);
    return new OpenCall(call, {
      ...{ breaker, calls, record, secrets: () => secretsIn(calling.sent?.proof) },
      namedBy: model.pattern === null ? 'catalogue' : 'client',
      hasOwnKey: target.ownKeys?.has(model) === true,
    });
  }
}
