import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import { deleteExpiredBatches } from './batch-lease-system-store.ts';
import { deleteFile, hideExpired, takeHidden, type HiddenFile } from './file-system-store.ts';

/** Files that one round deletes at providers. */
const filesAtOnce = 20;
const rowsAtOnce = 200;
/** Within about two days. Then the provider's own retention deletes the file. */
const maxTries = 8;
const answerMs = 10_000;

export interface FileDeletionOptions {
  pool: Pool;
  providers: ProviderRegistry;
  settings: TenantSettingsClient;
  log: Logger;
  /** Shorter in tests. */
  everyMs?: number | undefined;
}

/** Deletes files at providers that clients have deleted, or that have expired, and batches that ended long ago. */
export class FileDeletion {
  readonly #options: FileDeletionOptions;
  readonly #work: PeriodicWork;
  readonly #stopping = new AbortController();

  constructor({ everyMs = 30_000, ...options }: FileDeletionOptions) {
    this.#options = options;
    const { log } = options;
    const round = (): Promise<boolean> => this.#round();
    this.#work = new PeriodicWork({ task: 'delete files of batches', log, everyMs, round });
  }

  start(): void {
    this.#work.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#work.stop();
  }

  async #round(): Promise<boolean> {
    const { pool } = this.#options;
    const expired = await hideExpired(pool, rowsAtOnce);
    const ended = await deleteExpiredBatches(pool, rowsAtOnce);
    const files = await takeHidden(pool, filesAtOnce);
    for (const file of files) {
      if (this.#stopping.signal.aborted) return false;
      await this.#delete(file);
    }
    return files.length === filesAtOnce || expired === rowsAtOnce || ended === rowsAtOnce;
  }

  async #delete(file: HiddenFile): Promise<void> {
    const { pool, log } = this.#options;
    try {
      await this.#deleteThere(file);
    } catch (err) {
      const isLast = file.tries >= maxTries;
      const about = { err, tenant_id: file.tenantId, provider: file.key.provider };
      log.warn(about, isLast ? 'gave up a file at a provider' : 'failed to delete a file at a provider');
      if (!isLast) return;
    }
    await deleteFile(pool, file.id);
  }

  async #deleteThere({ key, tenantId, providerFileId }: HiddenFile): Promise<void> {
    const { providers, settings } = this.#options;
    const ownKeys = key.ownKeyId === null ? [] : (await settings.getForTenant(tenantId)).ownKeys;
    const resources = providers.resourcesOf(key, { tenantId, ownKeys });
    if (resources === null) throw new Error('the provider or the key of the file is gone');
    const path = `/files/${encodeURIComponent(providerFileId)}`;
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(answerMs)]);
    await resources.json({ method: 'DELETE', path, signal }).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ProviderFailure && error.details.status === 404;
}
