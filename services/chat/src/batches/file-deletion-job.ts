import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderResources } from '../providers/resources.ts';
import type { BatchPollingOptions } from './batch-poll-job.ts';
import { deleteExpiredBatches } from './batch-lease-system-store.ts';
import { deleteFile, hideExpired, takeHidden, type HiddenFile } from './file-system-store.ts';
import { nameAtProvider } from './openai-batch.ts';
import { hasId, idIn, findListed } from './batch-api.ts';
import { batchApis, resourcesFor } from './provider-batch-client.ts';
import { ProviderTurns } from './provider-turns.ts';
import { waitingProviders, waitingTenants } from './turns-system-store.ts';
import {
  providerSlots,
  filesOfTurn,
  rowsAtOnce,
  maxDeletionTries,
  deletionAnswerMs,
  uploadLooks,
} from '../bounds.ts';

const uploadedFiles = '/files?purpose=batch&order=desc&limit=500';

export interface FileDeletionOptions extends Pick<
  BatchPollingOptions,
  'pool' | 'providers' | 'settings' | 'log'
> {
  /** Shorter in tests. */
  everyMs?: number | undefined;
}

/**
 * Deletes files at providers after their deletion by clients or their expiry, and batches ended long ago. Tenants take
 * turns at each provider.
 */
export class FileDeletion {
  readonly #options: FileDeletionOptions;
  readonly #expiry: PeriodicWork;
  readonly #turns: ProviderTurns;

  constructor(options: FileDeletionOptions) {
    this.#options = options;
    const { log, pool, everyMs = 2_000 } = options;
    this.#expiry = new PeriodicWork({
      ...{ task: 'delete expired files and batches', log, everyMs: 15 * everyMs },
      round: () => this.#expire(),
    });
    this.#turns = new ProviderTurns({
      ...{ slots: providerSlots, log, task: 'look for files to delete', everyMs },
      providers: () => waitingProviders(pool, 'files'),
      waiting: (provider, search) => waitingTenants(pool, 'files', { provider, ...search }),
      take: (turn) => Promise.resolve(() => this.#deleteSome(turn)),
    });
  }

  start(): void {
    this.#expiry.start();
    this.#turns.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#expiry.stop(), this.#turns.stop()]);
  }

  async #expire(): Promise<boolean> {
    const { pool } = this.#options;
    const expired = await hideExpired(pool, rowsAtOnce);
    const ended = await deleteExpiredBatches(pool, rowsAtOnce);
    return expired === rowsAtOnce || ended === rowsAtOnce;
  }

  /** One turn. It ends with the first failure: a hanging provider must not hold up those next there. */
  async #deleteSome(turn: { tenantId: string; provider: string }): Promise<void> {
    const { pool, log } = this.#options;
    try {
      for (let count = 0; count < filesOfTurn && !this.#turns.signal.aborted; count += 1) {
        const file = await takeHidden(pool, turn);
        if (file === null) return;
        if (!file.needed && !(await this.#delete(file))) return;
      }
    } catch (err) {
      log.warn({ err, tenant_id: turn.tenantId }, 'failed to delete files of a tenant');
    }
  }

  /** Returns whether the provider answered. */
  async #delete(file: HiddenFile): Promise<boolean> {
    const { pool, log } = this.#options;
    try {
      if (await this.#deleteThere(file)) await deleteFile(pool, file.id);
      return true;
    } catch (err) {
      const isLast = file.tries >= maxDeletionTries;
      const about = { err, tenant_id: file.tenantId, provider: file.key.provider };
      log.warn(about, isLast ? 'gave up a file at a provider' : 'failed to delete a file at a provider');
      if (isLast) await deleteFile(pool, file.id);
      return false;
    }
  }

  /** Returns whether the provider no longer has the file. */
  async #deleteThere(file: HiddenFile): Promise<boolean> {
    const resources = await resourcesFor(this.#options, file);
    const id = file.providerFileId ?? (await this.#findUpload(file, resources));
    // The last bytes may be on their way yet.
    if (id === null) return file.tries >= uploadLooks;
    const path = batchApis[file.purpose === 'message_batch' ? 'anthropic' : 'openai'].filePath(id);
    const request = { method: 'DELETE', path, isAnswer: hasId, signal: this.#deadline } as const;
    await resources.json(request).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
    return true;
  }

  /** The provider's id of a file after an upload without an end; null without one. */
  async #findUpload(
    { id, createdAt: since }: HiddenFile,
    resources: ProviderResources,
  ): Promise<string | null> {
    const signal = (): AbortSignal => this.#deadline;
    const list = { path: uploadedFiles, cursor: 'after', since, isObject: hasId, signal } as const;
    const name = nameAtProvider(id);
    const listed = await findListed(resources, list, (objects) =>
      Promise.resolve(objects.find(({ filename }) => filename === name)),
    );
    return listed === null ? null : idIn(listed);
  }

  get #deadline(): AbortSignal {
    return AbortSignal.any([this.#turns.signal, AbortSignal.timeout(deletionAnswerMs)]);
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ProviderFailure && error.details.status === 404;
}
