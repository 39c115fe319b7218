import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import { linesOf, type Line } from '@gatehouse/kit/json-lines';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';
import type { Pool } from '@gatehouse/pg/pool';
import type { Alerts } from '../alerts/alerts-job.ts';
import { deploymentsOf, type Catalogue } from '../catalogue/catalogue.ts';
import { parsePrice } from '../catalogue/kept-price.ts';
import { costBy, type CallPrice } from '../catalogue/price.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { dialects } from '../dialects/dialects.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { ProviderResources } from '../providers/resources.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import { guessTokens } from '../usage/token-estimate.ts';
import { noUsage } from '../usage/usage.ts';
import { inBatch } from './batch-requests.ts';
import { batchEnd } from './batch-end.ts';
import { outcomes, type Outcome } from './batch-outcomes.ts';
import { endBatch, voidBatch, type BatchEnd } from './batch-end-system-store.ts';
import {
  knownIds,
  leaseBatch,
  releaseBatch,
  renewLease,
  returnBatch,
  returnFailing,
  type LeasedBatch,
} from './batch-lease-system-store.ts';
import { confirmBatch } from './batch-system-store.ts';
import type { StoredFile } from './file-system-store.ts';
import { hasId, idIn } from './openai-batch.ts';
import { batchApis, cancelBatch, describedBatch, resourcesFor } from './provider-batch-peer.ts';
import { ProviderTurns } from './provider-turns.ts';
import { ResultTally } from './result-tally.ts';
import type { SealedObjects } from './sealed-object.ts';
import type { UploadPace } from './upload-form-http.ts';
import { waitingProviders, waitingTenants } from './turns-system-store.ts';

export interface BatchPollingOptions {
  pool: Pool;
  providers: ProviderRegistry;
  catalogue: Catalogue;
  settings: TenantSettingsClient;
  pricing: Pricing;
  sealed: SealedObjects;
  alerts: Pick<Alerts, 'ofRun'>;
  log: Logger;
  registry: Registry;
  /** Shorter in tests. */
  pace?: Pace | undefined;
}

/** Times in milliseconds. */
export interface Pace {
  /** Between two rounds. */
  roundMs: number;
  /** Between two extensions of the lease of a batch whose results are read. */
  renewMs: number;
  /** The time until a new batch is asked about, which grows to `longestPauseMs`. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** After a failure, growing tenfold. */
  failurePauseMs: number;
  /** A batch that could not be asked about for so long is given up. */
  giveUpMs: number;
  upload: UploadPace;
}

export const usualPace: Pace = {
  roundMs: 1_000,
  renewMs: 15_000,
  firstPauseMs: 5_000,
  longestPauseMs: 60_000,
  failurePauseMs: 60_000,
  giveUpMs: 72 * 3_600_000,
  upload: { minBytesPerSecond: 16 * 1024, windowMs: 60_000, mostMs: 30 * 60_000 },
};

/** Batches of one provider that a replica works on at a time, each of another tenant. */
const slots = 4;
/** Results that a replica reads at a time, each line of which is in memory. None waits, since it would hold a slot. */
const readsInFlight = { perKey: 2, slots: 8, maxWaiting: 0, tooMany: () => new NoRoomToRead() };
/** How long results may take: 200 MiB at 120 KiB a second. */
const readMs = 30 * 60_000;
const leaseMs = 60_000;
const answerMs = 30_000;
/** Longer results are not read. */
const maxLineBytes = 32 * 1024 * 1024;

/** The results of a batch at its provider. */
interface Results {
  resources: ProviderResources;
  path: string;
}

/** Enough results are being read. */
class NoRoomToRead extends Error {}

/**
 * Asks providers about batches under way, and ends those that have ended there. Each is leased by one replica at a time,
 * and tenants take turns at each provider.
 */
export class BatchPolling {
  readonly #options: BatchPollingOptions;
  readonly #pace: Pace;
  readonly #loop: BackgroundLoop;
  readonly #ended: Counter<'status'>;
  readonly #turns: ProviderTurns;
  /** By provider. */
  readonly #reads = new FairQueue(readsInFlight);

  constructor({ pace = usualPace, ...options }: BatchPollingOptions) {
    this.#options = options;
    this.#pace = pace;
    this.#loop = new BackgroundLoop(() => this.#round());
    const { pool } = options;
    this.#turns = new ProviderTurns({
      slots,
      providers: () => waitingProviders(pool, 'batches'),
      waiting: (provider, search) => waitingTenants(pool, 'batches', { provider, ...search }),
      take: async ({ id }) => {
        const batch = await leaseBatch(pool, id, { leaseId: newId(), leaseMs });
        return batch === null ? null : () => this.#work(batch);
      },
    });
    this.#ended = new Counter({
      name: 'gatehouse_batches_ended_total',
      help: 'Batches that this replica has ended and priced, by the status of their runs',
      labelNames: ['status'],
      registers: [options.registry],
    });
  }

  start(): void {
    this.#loop.start(jittered(this.#pace.roundMs));
  }

  /** Gives what is under way to other replicas. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#turns.stop();
  }

  async #round(): Promise<number> {
    try {
      await this.#turns.begin();
    } catch (error) {
      this.#options.log.warn({ err: error }, 'failed to look for batches that are due');
    }
    return jittered(this.#pace.roundMs);
  }

  async #work(batch: LeasedBatch): Promise<void> {
    const { log, pool } = this.#options;
    const about = { batch_id: batch.id, tenant_id: batch.tenantId, provider: batch.key.provider };
    try {
      await this.#ask(batch);
    } catch (error) {
      if (this.#loop.signal.aborted) {
        await releaseBatch(pool, batch).catch((err: unknown) =>
          log.warn({ ...about, err }, 'failed to release a batch'),
        );
        return;
      }
      const isLost = (batch.failingMs ?? 0) >= this.#pace.giveUpMs;
      log[isLost ? 'error' : 'warn'](
        { ...about, err: error },
        isLost ? 'gave up a batch that its provider could not be asked about' : 'failed to ask about a batch',
      );
      const pauseMs = this.#pace.failurePauseMs * Math.min(10, 1 + batch.polls);
      const handled = isLost ? this.#giveUp(batch) : returnFailing(pool, batch, pauseMs);
      await handled.catch((err: unknown) => log.warn({ ...about, err }, 'failed to return a batch'));
    }
  }

  async #ask(batch: LeasedBatch): Promise<void> {
    const { pool, sealed } = this.#options;
    const resources = await resourcesFor(this.#options, batch);
    if (batch.providerBatchId === null) {
      await this.#look(batch, resources);
      return;
    }
    const api = batchApis[batch.api];
    const there = { api: batch.api, providerBatchId: batch.providerBatchId };
    let object = await describedBatch(resources, there, this.#deadline);
    if (batch.forgotten && !api.isEnded(object) && !api.isCancelling(object))
      object = await cancelBatch(resources, there, this.#deadline);
    if (api.isEnded(object)) await this.#end(batch, object, resources);
    else
      await returnBatch(pool, batch, {
        content: sealed.seal(object, batch),
        pauseMs: jittered(this.#pauseAfter(batch.polls)),
      });
  }

  #pauseAfter(polls: number): number {
    const { firstPauseMs, longestPauseMs } = this.#pace;
    return Math.min(longestPauseMs, firstPauseMs * 1.5 ** Math.min(polls, 20));
  }

  get #deadline(): AbortSignal {
    return AbortSignal.any([this.#loop.signal, AbortSignal.timeout(answerMs)]);
  }

  /** Looks for a batch at its provider, which did not say whether it has it. */
  async #look(batch: LeasedBatch, resources: ProviderResources): Promise<void> {
    const { pool, sealed } = this.#options;
    const object = await batchApis[batch.api].find(batch, {
      resources,
      signal: () => this.#deadline,
      knownIds: (ids) => knownIds(pool, batch.key.provider, ids),
      haveText: (path, text) => this.#haveText(batch, { resources, path }, text),
    });
    const providerBatchId = object === null ? null : idIn(object);
    if (object === null || providerBatchId === null) await voidBatch(pool, batch.id);
    else {
      const content = sealed.seal(object, batch);
      await confirmBatch(pool, batch.id, { providerBatchId, content, pauseMs: this.#pace.firstPauseMs });
    }
  }

  /** Whether a line of results has a text. */
  async #haveText(batch: LeasedBatch, results: Results, text: string): Promise<boolean> {
    let isFound = false;
    const add = ({ bytes }: Line): Promise<void> => {
      isFound ||= bytes.includes(text);
      return Promise.resolve();
    };
    await this.#eachLine(batch, results, { add, onTooLong: () => undefined });
    return isFound;
  }

  async #end(batch: LeasedBatch, object: Fields, resources: ProviderResources): Promise<void> {
    const api = batchApis[batch.api];
    const tally = new ResultTally({
      ...{ format: dialects[batch.run.dialect ?? 'chat'], resultIn: api.resultIn },
      ...{ price: this.#priceOf(batch), tenantId: batch.tenantId, requests: batch.requests },
      inputTokensGuess: guessTokens(Math.ceil(batch.reservedInputTokens / Math.max(1, batch.requests))),
      mostOutputTokens: Math.ceil(batch.reservedOutputTokens / Math.max(1, batch.requests)),
    });
    const path = api.resultsPath(object);
    try {
      if (path !== null) await this.#sum(batch, tally, { resources, path });
    } catch (error) {
      if (!(error instanceof NoRoomToRead)) throw error;
      const content = this.#options.sealed.seal(object, batch);
      await returnBatch(this.#options.pool, batch, { content, pauseMs: jittered(this.#pace.firstPauseMs) });
      return;
    }
    if (!api.isWhole(object, tally, batch.requests))
      throw new Error(`the batch has only ${tally.lines} of the results that it counts`);
    const ids = api.resultIds(object);
    const [output, errors] = await Promise.all([
      this.#fileOf(batch, ids.output, resources),
      this.#fileOf(batch, ids.errors, resources),
    ]);
    await this.#commit(batch, api.outcomeOf(object), tally, {
      ...{ content: this.#options.sealed.seal(object, batch), output, errors },
    });
  }

  /** Adds all results up. Throws once the lease is lost. */
  #sum(batch: LeasedBatch, tally: ResultTally, results: Results): Promise<void> {
    const onTooLong = (): void => {
      this.#options.log.warn({ batch_id: batch.id }, 'a result of a batch is too long to be read');
      tally.addUnread();
    };
    return this.#eachLine(batch, results, { add: (line) => tally.add(line), onTooLong });
  }

  /** Reads results line by line, and keeps the lease meanwhile. Throws once it is lost. */
  async #eachLine(
    batch: LeasedBatch,
    { resources, path }: Results,
    { add, onTooLong }: { add: (line: Line) => Promise<unknown>; onTooLong: () => void },
  ): Promise<void> {
    const lost = new AbortController();
    const renewing = setInterval(() => {
      renewLease(this.#options.pool, batch, leaseMs).then(
        (held) => {
          if (!held) lost.abort(new Error('the lease of the batch is lost'));
        },
        (err: unknown) => this.#options.log.warn({ err, batch_id: batch.id }, 'failed to renew a lease'),
      );
    }, this.#pace.renewMs);
    const ending = AbortSignal.any([this.#loop.signal, lost.signal]);
    const read = async (): Promise<void> => {
      const signal = AbortSignal.any([ending, AbortSignal.timeout(readMs)]);
      const content = await resources.stream({ method: 'GET', path, signal });
      for await (const line of linesOf(content, maxLineBytes, onTooLong)) {
        signal.throwIfAborted();
        await add(line);
      }
    };
    try {
      await this.#reads.run(batch.key.provider, read, ending);
    } finally {
      clearInterval(renewing);
    }
  }

  /** A file of results, with how the provider describes it; null if there is none. */
  async #fileOf(
    { tenantId, key, api: name }: LeasedBatch,
    providerFileId: string | null,
    resources: ProviderResources,
  ): Promise<StoredFile | null> {
    if (providerFileId === null) return null;
    const { resultPurpose: purpose, describesFiles, filePath } = batchApis[name];
    const path = filePath(providerFileId);
    const object = describesFiles
      ? await resources.json({ method: 'GET', path, isAnswer: hasId, signal: this.#deadline })
      : {};
    const id = newId();
    const content = this.#options.sealed.seal(object, { id, tenantId });
    return { id, purpose, key, providerFileId, requests: null, content };
  }

  /** Ends a batch whose outcome can't be known: its prompts count as they were estimated. */
  async #giveUp(batch: LeasedBatch): Promise<void> {
    const usage = { ...noUsage, inputTokens: guessTokens(batch.reservedInputTokens), estimated: true };
    const cost = costBy(this.#priceOf(batch), usage);
    const { costPico = null, source = null, version = null } = cost ?? {};
    const sum = { usage, cost: { costPico, priced: cost !== null, source, version }, responseModel: null };
    await this.#commit(batch, outcomes.unreachable, sum, { content: null, output: null, errors: null });
  }

  async #commit(
    batch: LeasedBatch,
    outcome: Outcome,
    sum: Pick<ResultTally, 'usage' | 'cost' | 'responseModel'>,
    kept: Pick<BatchEnd, 'content' | 'output' | 'errors'>,
  ): Promise<void> {
    const { pool, alerts } = this.#options;
    const { end, attempt } = batchEnd(batch, outcome, sum);
    const raised = alerts.ofRun(batch.run, end, [attempt]);
    if (await endBatch(pool, batch, { end, attempt, alerts: raised, ...kept }))
      this.#ended.inc({ status: end.status });
  }

  /** The prices of its start. If its model had none then, those of the catalogue now; null if that has none either. */
  #priceOf({ price, model: name, upstreamModel, key, createdAt: at }: LeasedBatch): CallPrice | null {
    if (price !== null) return parsePrice(price);
    const { catalogue, pricing } = this.#options;
    const model = catalogue.find(name, null);
    const deployment = (model === undefined ? [] : deploymentsOf(model)).find(
      ({ provider, upstreamModel: own }) => provider.name === key.provider && own === upstreamModel,
    );
    return deployment === undefined ? null : pricing.priceOf(deployment, { at, ...inBatch });
  }
}
