import { defaultDialect } from '@gatehouse/contract/dialects';
import { jittered } from '@gatehouse/kit/background-loop';
import type { Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, type Registry } from '@gatehouse/kit/metrics';
import { withTransaction, type Pool } from '@gatehouse/pg/pool';
import type { Alerts } from '../alerts/alerts-job.ts';
import { deploymentsOf, type Catalogue } from '../catalogue/catalogue.ts';
import { parseFees, parsePrice } from '../catalogue/kept-price.ts';
import { costBy, noParts, type CallPrice } from '../catalogue/price.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { ProviderResources } from '../providers/resources.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { guessTokens } from '@gatehouse/dialects/usage/token-estimate';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { inBatch } from './batch-requests.ts';
import { batchEnd, ResultTally, type BatchSum } from './result-tally.ts';
import { hasId, idIn, outcomes, type Outcome } from './batch-api.ts';
import { endBatch, type BatchEnd } from './batch-end-system-store.ts';
import {
  knownIds,
  leaseBatch,
  releaseBatch,
  renewLease,
  returnBatch,
  returnFailing,
  type LeasedBatch,
} from './batch-lease-system-store.ts';
import { confirmBatch, voidBatch } from './batch-store.ts';
import type { StoredFile } from './file-store.ts';
import { batchApis, cancelBatch, describedBatch, resourcesFor } from './provider-batch-client.ts';
import { ProviderTurns } from './provider-turns.ts';
import { NoRoomToRead, ResultLines } from './result-lines-client.ts';
import type { SealedObjects } from './sealed-object.ts';
import type { UploadPace } from './upload-form-handlers.ts';
import { waitingProviders, waitingTenants } from './turns-system-store.ts';
import { providerSlots, providerAnswerMs, batchLeaseMs } from '../bounds.ts';

export interface BatchPollingOptions {
  pool: Pool;
  providers: ProviderRegistry;
  catalogue: Catalogue;
  settings: TenantSettingsClient;
  pricing: Pricing;
  sealed: SealedObjects;
  alerts: Pick<Alerts, 'alertOfRun'>;
  log: Logger;
  registry: Registry;
  /** Shorter in tests. */
  pace?: Pace | undefined;
}

/** Times in milliseconds. */
export interface Pace {
  /** Between two rounds. */
  roundMs: number;
  /** Between two extensions of the lease of a batch. */
  renewMs: number;
  /** The time until a new batch is asked about, which grows to `longestPauseMs`. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** After a failure, growing tenfold. */
  failurePauseMs: number;
  /** A batch is given up when it could not be asked about for so long. */
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

/** A batch at its provider. The signal aborts when this replica stops, or no longer has the lease. */
interface Asking {
  batch: LeasedBatch;
  resources: ProviderResources;
  signal: AbortSignal;
}

/**
 * Asks providers about batches under way, and ends those already ended there. Each is leased by one replica at a time,
 * and tenants take turns at each provider.
 */
export class BatchPolling {
  readonly #options: BatchPollingOptions;
  readonly #pace: Pace;
  readonly #ended: Counter<'status'>;
  readonly #turns: ProviderTurns;
  readonly #results = new ResultLines();

  constructor({ pace = usualPace, ...options }: BatchPollingOptions) {
    this.#options = options;
    this.#pace = pace;
    const { pool, log } = options;
    this.#turns = new ProviderTurns({
      ...{ slots: providerSlots, log, task: 'look for batches that are due', everyMs: pace.roundMs },
      providers: () => waitingProviders(pool, 'batches'),
      waiting: (provider, search) => waitingTenants(pool, 'batches', { provider, ...search }),
      take: async ({ id }) => {
        const batch = await leaseBatch(pool, id, { leaseId: newId(), leaseMs: batchLeaseMs });
        return batch === null ? null : () => this.#work(batch);
      },
    });
    this.#ended = counter(
      options.registry,
      'gatehouse_batches_ended_total',
      'Batches that this replica has ended and priced, by the status of their runs',
      ['status'],
    );
  }

  start(): void {
    this.#turns.start();
  }

  /** Gives what is under way to other replicas. */
  stop(): Promise<void> {
    return this.#turns.stop();
  }

  async #work(batch: LeasedBatch): Promise<void> {
    const { log, pool } = this.#options;
    const about = { batch_id: batch.id, tenant_id: batch.tenantId, provider: batch.key.provider };
    const { signal: stopping } = this.#turns;
    try {
      await this.#holdingLease(batch, (signal) => this.#ask(batch, signal));
    } catch (error) {
      const handled = stopping.aborted ? releaseBatch(pool, batch, 0) : this.#handle(error, batch, about);
      await handled.catch((err: unknown) => log.warn({ ...about, err }, 'failed to return a batch'));
    }
  }

  /** Works on a batch, extending its lease meanwhile. The signal of the work aborts when the lease is lost, too. */
  async #holdingLease(batch: LeasedBatch, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { pool, log } = this.#options;
    const lost = new AbortController();
    const renewing = setInterval(() => {
      renewLease(pool, batch, batchLeaseMs).then(
        (held) => {
          if (!held) lost.abort(new Error('the lease of the batch is lost'));
        },
        (err: unknown) => log.warn({ err, batch_id: batch.id }, 'failed to renew a lease'),
      );
    }, this.#pace.renewMs);
    try {
      await work(AbortSignal.any([this.#turns.signal, lost.signal]));
    } finally {
      clearInterval(renewing);
    }
  }

  async #handle(error: unknown, batch: LeasedBatch, about: Record<string, string>): Promise<void> {
    const { log, pool } = this.#options;
    if (error instanceof NoRoomToRead) return releaseBatch(pool, batch, jittered(this.#pace.firstPauseMs));
    const isLost = (batch.failingMs ?? 0) >= this.#pace.giveUpMs;
    log[isLost ? 'error' : 'warn'](
      { ...about, err: error },
      isLost ? 'gave up a batch that its provider could not be asked about' : 'failed to ask about a batch',
    );
    const pauseMs = this.#pace.failurePauseMs * Math.min(10, 1 + batch.polls);
    return isLost ? this.#giveUp(batch) : returnFailing(pool, batch, pauseMs);
  }

  async #ask(batch: LeasedBatch, signal: AbortSignal): Promise<void> {
    const { pool, sealed } = this.#options;
    const resources = await resourcesFor(this.#options, batch);
    const asking = { batch, resources, signal };
    if (batch.providerBatchId === null) {
      await this.#look(asking);
      return;
    }
    const api = batchApis[batch.api];
    const there = { api: batch.api, providerBatchId: batch.providerBatchId };
    let object = await describedBatch(resources, there, deadline(signal));
    if (batch.forgotten && !api.isEnded(object) && !api.isCancelling(object))
      object = await cancelBatch(resources, there, deadline(signal));
    if (api.isEnded(object)) await this.#end(asking, object);
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

  /** Looks for a batch at its provider, which did not say whether it has it. */
  async #look({ batch, resources, signal }: Asking): Promise<void> {
    const { pool, sealed } = this.#options;
    const { provider } = batch.key;
    const object = await batchApis[batch.api].find(batch, {
      resources,
      signal: () => deadline(signal),
      knownIds: (ids) => knownIds(pool, provider, ids),
      haveText: (path, text) => this.#results.have({ provider, resources, path }, text, signal),
    });
    const providerBatchId = object === null ? null : idIn(object);
    if (object === null || providerBatchId === null) await voidBatch(pool, batch.id);
    else {
      const content = sealed.seal(object, batch);
      const confirmed = { providerBatchId, content, pauseMs: this.#pace.firstPauseMs };
      await withTransaction(pool, (db) => confirmBatch(db, batch.id, confirmed));
    }
  }

  async #end(asking: Asking, object: Fields): Promise<void> {
    const { batch } = asking;
    const api = batchApis[batch.api];
    const tally = new ResultTally({
      ...{ format: dialects[batch.run.dialect ?? defaultDialect], resultIn: api.resultIn },
      fees: batch.price === null ? [] : parseFees(batch.price),
      ...{ price: this.#priceOf(batch), tenantId: batch.tenantId, requests: batch.requests },
      inputTokensGuess: guessTokens(Math.ceil(batch.reservedInputTokens / Math.max(1, batch.requests))),
      mostOutputTokens: Math.ceil(batch.reservedOutputTokens / Math.max(1, batch.requests)),
    });
    await this.#sum(asking, api.resultsPath(object), tally);
    if (!api.isWhole(object, tally, batch.requests))
      throw new Error(`the batch has only ${tally.lines} of the results that it counts`);
    const ids = api.resultIds(object);
    const [output, errors] = await Promise.all([
      this.#fileOf(asking, ids.output),
      this.#fileOf(asking, ids.errors),
    ]);
    await this.#commit(batch, api.outcomeOf(object), tally, {
      ...{ content: this.#options.sealed.seal(object, batch), output, errors, left: [] },
    });
  }

  /** Adds all results up. `path`: null without one. */
  async #sum({ batch, resources, signal }: Asking, path: string | null, tally: ResultTally): Promise<void> {
    if (path === null) return;
    const onTooLong = (): void => {
      this.#options.log.warn({ batch_id: batch.id }, 'a result of a batch is too long to be read');
      tally.addUnread();
    };
    const results = { provider: batch.key.provider, resources, path };
    await this.#results.each(results, { add: (line) => tally.add(line), onTooLong }, signal);
  }

  /** A file of results, with how the provider describes it; null without one. */
  async #fileOf(
    { batch, resources, signal }: Asking,
    providerFileId: string | null,
  ): Promise<StoredFile | null> {
    if (providerFileId === null) return null;
    const { describesFiles, filePath } = batchApis[batch.api];
    if (!describesFiles) return this.#file(batch, providerFileId);
    const asked = { method: 'GET', path: filePath(providerFileId), isAnswer: hasId } as const;
    return this.#file(batch, providerFileId, await resources.json({ ...asked, signal: deadline(signal) }));
  }

  #file({ tenantId, key, api }: LeasedBatch, providerFileId: string, object: Fields = {}): StoredFile {
    const id = newId();
    const content = this.#options.sealed.seal(object, { id, tenantId });
    const { resultPurpose: purpose } = batchApis[api];
    return { id, purpose, key, providerFileId, requests: null, content };
  }

  /** Ends a batch without a knowable outcome: its prompts count as they were estimated. */
  async #giveUp(batch: LeasedBatch): Promise<void> {
    const { pool } = this.#options;
    // Another replica may have it, and know better.
    if (!(await renewLease(pool, batch, batchLeaseMs))) return;
    const left = await this.#leftBy(batch);
    const usage = { ...noUsage, inputTokens: guessTokens(batch.reservedInputTokens), estimated: true };
    const cost = costBy(this.#priceOf(batch), usage);
    const { costPico = null, source = null, version = null, parts = noParts } = cost ?? {};
    const sum = {
      ...{ usage, cost: { costPico, priced: cost !== null, source, version }, parts, responseModel: null },
      chargePico: costPico ?? 0n,
    };
    const kept = { content: null, output: null, errors: null, left };
    await this.#commit(batch, outcomes.unreachable, sum, kept);
  }

  /** Cancels a batch given up here, as far as its provider can be asked. Returns the results left there. */
  async #leftBy(batch: LeasedBatch): Promise<StoredFile[]> {
    if (batch.providerBatchId === null) return [];
    const there = { api: batch.api, providerBatchId: batch.providerBatchId };
    const { isEnded, resultIds } = batchApis[batch.api];
    const { signal } = this.#turns;
    let object: Fields = { id: batch.providerBatchId };
    try {
      const resources = await resourcesFor(this.#options, batch);
      object = await describedBatch(resources, there, deadline(signal)).catch(() => object);
      if (!isEnded(object)) object = await cancelBatch(resources, there, deadline(signal));
    } catch (err) {
      this.#options.log.warn({ err, batch_id: batch.id }, 'failed to cancel a batch that is given up');
    }
    const { output, errors } = resultIds(object);
    return [output, errors].flatMap((id) => (id === null ? [] : [this.#file(batch, id)]));
  }

  async #commit(
    batch: LeasedBatch,
    outcome: Outcome,
    sum: BatchSum,
    kept: Pick<BatchEnd, 'content' | 'output' | 'errors' | 'left'>,
  ): Promise<void> {
    const { pool, alerts } = this.#options;
    const { end, attempt } = batchEnd(batch, outcome, sum);
    const raised = alerts.alertOfRun(batch.run, end, [attempt]);
    if (await endBatch(pool, batch, { end, attempt, alerts: raised, ...kept }))
      this.#ended.inc({ status: end.status });
  }

  /** Prices of its start. If its model had no price then, those of the catalogue now; null without one there either. */
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

function deadline(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(providerAnswerMs)]);
}
