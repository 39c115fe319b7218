import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { ProviderResources } from '../providers/resources.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import { deleteExpiredBatches } from './batch-lease-system-store.ts';
import { deleteFile, hideExpired, takeHidden, type HiddenFile } from './file-system-store.ts';
import { idIn, nameAtProvider } from './openai-batch.ts';
import { findListed } from './provider-list.ts';

/** Files that one round deletes at providers. */
const filesAtOnce = 20;
const rowsAtOnce = 200;
/** Within about two days. Then the provider's own retention deletes the file. */
const maxTries = 8;
const answerMs = 10_000;
/** Attempts to find the file of an upload whose end is not known. */
const looks = 2;
const uploadedFiles = '/files?purpose=batch&order=desc&limit=1000';

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
      if (!(await this.#deleteThere(file))) return;
    } catch (err) {
      const isLast = file.tries >= maxTries;
      const about = { err, tenant_id: file.tenantId, provider: file.key.provider };
      log.warn(about, isLast ? 'gave up a file at a provider' : 'failed to delete a file at a provider');
      if (!isLast) return;
    }
    await deleteFile(pool, file.id);
  }

  /** Returns whether the provider has no such file any more. */
  async #deleteThere(file: HiddenFile): Promise<boolean> {
    const { providers, settings } = this.#options;
    const { key, tenantId } = file;
    const ownKeys = key.ownKeyId === null ? [] : (await settings.getForTenant(tenantId)).ownKeys;
    const resources = providers.resourcesOf(key, { tenantId, ownKeys });
    if (resources === null) throw new Error('the provider or the key of the file is gone');
    const id = file.providerFileId ?? (await this.#findUpload(file, resources));
    // What was sent last may be on its way yet.
    if (id === null) return file.tries >= looks;
    const path = `/files/${encodeURIComponent(id)}`;
    await resources.json({ method: 'DELETE', path, signal: this.#deadline }).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
    return true;
  }

  /** The provider's id of a file whose upload had no end; null if there is none. */
  async #findUpload({ id, createdAt: since }: HiddenFile, resources: ProviderResources): Promise<string | null> {
    const list = { path: uploadedFiles, since, signal: () => this.#deadline };
    const name = nameAtProvider(id);
    const found = await findListed(resources, list, (objects) =>
      Promise.resolve(objects.find(({ filename }) => filename === name)),
    );
    return found === null ? null : idIn(found);
  }

  get #deadline(): AbortSignal {
    return AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(answerMs)]);
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ProviderFailure && error.details.status === 404;
}
