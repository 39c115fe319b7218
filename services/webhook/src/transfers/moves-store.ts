import type { Jobs } from '@gatehouse/jobs/jobs';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import { decrypted, readRow, unhex } from '@gatehouse/transfers/store/rows';
import { inTarget } from '@gatehouse/transfers/store/transfer-state';
import { itemsOf, skippedOf, type Transfer } from '@gatehouse/transfers/transfer';
import type { callTasks } from '../calls/call-tasks.ts';
import type { CallTexts } from '../calls/call-texts.ts';
import type { channelTasks } from '../channels/channel-tasks.ts';
import type { conversationTasks } from '../conversations/conversation-tasks.ts';
import type { ChannelTexts } from '../conversations/channel-texts.ts';
import type { ConversationQueue } from '../conversations/conversation-queue-store.ts';
import type { SecretPlace, WebhookSecrets } from '../secrets/webhook-secrets.ts';
import { deleteOf, usersDeletedSince } from '../forgetting/deleted-user-store.ts';
import {
  asApp,
  asSystem,
  lockOwner,
  moveCalls,
  moveConversations,
  moveMessages,
  moveOwner,
  moveTurn,
  readCalls,
  readMessages,
  readTurns,
} from './move-store.ts';
import { forgetExpired } from '../secrets/rotation-store.ts';
import {
  closeLocked,
  endpointsInUse,
  openLocked,
  queuedCalls,
  waitingConversations,
  useAgent,
} from './use-store.ts';

export interface MovesOptions {
  secrets: WebhookSecrets;
  callTexts: CallTexts;
  channelTexts: ChannelTexts;
  jobs: Jobs<typeof callTasks & typeof channelTasks & typeof conversationTasks>;
  conversations: ConversationQueue;
  log: Logger;
}

/** The most that one call of a step moves; the next call continues. */
const budgetMs = 2_000;
/** Conversations; the upkeep finds others within seconds. */
const maxResumed = 500;
const beforeAll = { id: '00000000-0000-0000-0000-000000000000', sequence: '-1' };

/** The columns with secrets, and the places that they are encrypted for. */
const secretColumns = {
  endpoints: {
    secret: 'secret',
    previous_secret: 'secret',
    callback_secret: 'callback_secret',
    previous_callback_secret: 'callback_secret',
  },
  channel_instances: {
    credentials: 'credentials',
    previous_credentials: 'credentials',
    access_token: 'access_token',
    refresh_token: 'refresh_token',
  },
} as const satisfies Partial<Record<SecretPlace['table'], Record<string, SecretPlace['column']>>>;
type Owner = keyof typeof secretColumns;

/**
 * Moves endpoints and channels with what belongs to them. While one is closed nothing of it is worked on; what arrives
 * is stored, and worked on in the target. Its calls and messages go first, in batches; then, in one transaction, what
 * has arrived meanwhile, the conversations, and the endpoint or channel itself.
 */
export class Moves {
  readonly #options: MovesOptions;

  constructor(options: MovesOptions) {
    this.#options = options;
  }

  /** Begins no more work. Returns whether none is under way. */
  async close(db: Queryable, transfer: Transfer): Promise<boolean> {
    const isNew = [
      await closeLocked(db, 'webhook.endpoints', transfer.id),
      await closeLocked(db, 'webhook.channel_instances', transfer.id),
    ];
    // Work that still saw it open is seen once this has been committed.
    return !isNew.includes(true) && !(await this.#isInUse(db, transfer));
  }

  /** Goes on with what has waited. */
  async open(db: Queryable, transfer: Transfer): Promise<void> {
    await openLocked(db, 'webhook.endpoints', transfer.id);
    await openLocked(db, 'webhook.channel_instances', transfer.id);
    await this.#resume(db, transfer, transfer.sourceTenantId);
  }

  /** Decrypts the secrets of an endpoint or channel. Throws if one can't be. */
  async assertReadable(db: Queryable, { sourceTenantId }: Transfer, table: Owner, id: string): Promise<void> {
    await forgetExpired(db, table, id);
    await this.#resealed(db, { from: sourceTenantId, to: sourceTenantId }, table, id);
  }

  /** Returns whether everything is moved. */
  async move(db: Queryable, transfer: Transfer): Promise<boolean> {
    const [endpoints, channels] = owners(transfer);
    const until = monotonicMs() + budgetMs;
    if (!(await this.#forgetDeleted(db, transfer, until))) return false;
    // Encrypted for the target, they would need their key.
    for (const id of endpoints) await forgetExpired(db, 'endpoints', id);
    for (const id of channels) await forgetExpired(db, 'channel_instances', id);
    await asSystem(db);
    for (const id of endpoints) if (!(await this.#moveCalls(db, transfer, id, until))) return false;
    for (const id of channels) if (!(await this.#moveMessages(db, transfer, id, until))) return false;
    for (const id of endpoints) await lockOwner(db, 'webhook.endpoints', id);
    for (const id of channels) await lockOwner(db, 'webhook.channel_instances', id);
    for (const id of endpoints) await this.#moveCalls(db, transfer, id);
    for (const id of channels) {
      await this.#moveMessages(db, transfer, id);
      await this.#moveTurns(db, transfer, id);
      for (let after: string | null = beforeAll.id; after !== null;)
        after = await moveConversations(db, transfer, { channelId: id, after });
    }
    const sides = { from: transfer.sourceTenantId, to: transfer.targetTenantId };
    for (const id of endpoints) {
      const secrets = await this.#resealed(db, sides, 'endpoints', id);
      await moveOwner(db, transfer, 'webhook.endpoints', { id, secrets });
    }
    for (const id of channels) {
      const secrets = await this.#resealed(db, sides, 'channel_instances', id);
      await moveOwner(db, transfer, 'webhook.channel_instances', { id, secrets });
    }
    await asApp(db);
    // Those that were requested since the call began.
    await this.#forgetDeleted(db, transfer, Infinity);
    await inTarget(db, transfer, async () => {
      for (const { id, targetId } of skippedOf(transfer, 'agent'))
        await useAgent(db, { endpoints, channels }, { from: id, to: targetId });
      await this.#resume(db, transfer, transfer.targetTenantId);
    });
    return true;
  }

  /**
   * Deletes what users did whose data were deleted in the source meanwhile, in either tenant. Returns whether all of it
   * is deleted.
   */
  async #forgetDeleted(db: Queryable, transfer: Transfer, until: number): Promise<boolean> {
    const { sourceTenantId: tenantId } = transfer;
    const deleted = await usersDeletedSince(db, transfer.id);
    if (deleted.length === 0) return true;
    const [endpoints, channels] = owners(transfer);
    const deleteAll = async (): Promise<boolean> => {
      while (await deleteOf(db, deleted, { tenantId, endpoints, channels }))
        if (monotonicMs() > until) return false;
      return true;
    };
    return (await inTarget(db, transfer, deleteAll)) && (await deleteAll());
  }

  async #isInUse(db: Queryable, transfer: Transfer): Promise<boolean> {
    const { jobs } = this.#options;
    const [endpoints, channels] = owners(transfer);
    const tenantId = transfer.sourceTenantId;
    const calls = await queuedCalls(db, endpoints);
    const conversations = await waitingConversations(db, channels);
    const inUse = [
      await endpointsInUse(db, endpoints),
      await jobs.anyRunning(db, { tenantId, tasks: ['run_call'], member: 'callId', ids: calls }),
      await jobs.anyRunning(db, {
        ...{ tenantId, tasks: ['converse', 'send_replies'] },
        ...{ member: 'conversationId', ids: conversations },
      }),
      await jobs.anyRunning(db, {
        ...{ tenantId, tasks: ['check_channel', 'refresh_tokens'] },
        ...{ member: 'channelId', ids: channels },
      }),
    ];
    return inUse.includes(true);
  }

  /** Queues the work that waits, for the tenant that has it now. The upkeep queues what else is overdue. */
  async #resume(db: Queryable, transfer: Transfer, tenantId: string): Promise<void> {
    const { jobs, conversations } = this.#options;
    const [endpoints, channels] = owners(transfer);
    for (const callId of await queuedCalls(db, endpoints))
      await jobs.add(db, { task: 'run_call', tenantId, ids: { callId }, key: callId });
    for (const channelId of channels)
      await jobs.add(db, { task: 'check_channel', tenantId, ids: { channelId }, key: channelId });
    const waiting = await waitingConversations(db, channels);
    await conversations.resume(
      db,
      waiting.slice(0, maxResumed).map((id) => ({ tenantId, id })),
    );
  }

  /** Without `until`, to the end. Returns whether that is reached. */
  async #moveCalls(
    db: Queryable,
    transfer: Transfer,
    endpointId: string,
    until = Infinity,
  ): Promise<boolean> {
    const { callTexts: texts } = this.#options;
    const { sourceTenantId, targetTenantId } = transfer;
    for (let after = beforeAll.id; ;) {
      const calls = await readCalls(db, transfer, { endpointId, after });
      const last = calls.at(-1);
      if (last === undefined) return true;
      const moved = calls.map(({ id, request, result }) => {
        const [from, to] = [
          { tenantId: sourceTenantId, id },
          { tenantId: targetTenantId, id },
        ];
        return {
          id,
          request: this.#again(request, (sealed) => texts.sealRequest(to, texts.openRequest(from, sealed))),
          result: this.#again(result, (sealed) => texts.sealResult(to, texts.openResult(from, sealed))),
        };
      });
      await moveCalls(db, transfer, moved);
      if (monotonicMs() > until) return false;
      after = last.id;
    }
  }

  /** Without `until`, to the end. Returns whether that is reached. */
  async #moveMessages(
    db: Queryable,
    transfer: Transfer,
    channelId: string,
    until = Infinity,
  ): Promise<boolean> {
    const { channelTexts: texts } = this.#options;
    const { sourceTenantId, targetTenantId } = transfer;
    for (let after = beforeAll.sequence; ;) {
      const messages = await readMessages(db, transfer, { channelId, after });
      const last = messages.at(-1);
      if (last === undefined) return true;
      const again = messages.map(({ id, direction, text }) => {
        const [from, to] = [
          { tenantId: sourceTenantId, id },
          { tenantId: targetTenantId, id },
        ];
        return this.#again(text, (sealed) =>
          direction === 'in'
            ? texts.sealText(to, texts.openText(from, sealed))
            : texts.sealPiece(to, texts.openPiece(from, sealed)),
        );
      });
      await moveMessages(db, transfer, messages, again);
      if (monotonicMs() > until) return false;
      after = last.sequence;
    }
  }

  async #moveTurns(db: Queryable, transfer: Transfer, channelId: string): Promise<void> {
    const { channelTexts: texts } = this.#options;
    const { sourceTenantId, targetTenantId } = transfer;
    for (;;) {
      const turns = await readTurns(db, transfer, channelId);
      if (turns.length === 0) return;
      for (const { id, request } of turns) {
        const [from, to] = [
          { tenantId: sourceTenantId, id },
          { tenantId: targetTenantId, id },
        ];
        const again = this.#again(request, (sealed) =>
          texts.sealRequest(to, texts.openRequest(from, sealed)),
        );
        await moveTurn(db, transfer, { id, request: again });
      }
    }
  }

  /** A text encrypted again. One that can't be decrypted stays as it is: it would hold up the move for ever. */
  #again(sealed: Buffer | null, reseal: (sealed: Buffer) => Buffer): Buffer | null {
    if (sealed === null) return null;
    try {
      return reseal(sealed);
    } catch (error) {
      this.#options.log.error({ err: error }, 'failed to decrypt a text that moves to another tenant');
      return sealed;
    }
  }

  /** The secrets of an endpoint or channel of `from`, encrypted for `to`. */
  async #resealed(
    db: Queryable,
    { from, to }: { from: string; to: string },
    table: Owner,
    id: string,
  ): Promise<Record<string, Buffer | null>> {
    const { secrets } = this.#options;
    const row = await readRow(db, `webhook.${table}`, id);
    const columns = Object.entries<SecretPlace['column']>(secretColumns[table]);
    const entries: [string, Buffer | null][] = columns.map(([name, column]) => {
      const sealed = row[name] ?? null;
      if (sealed === null) return [name, null];
      const place = { table, column, id };
      const secret = decrypted(() => secrets.open({ ...place, tenantId: from }, unhex(sealed)));
      return [name, secrets.seal({ ...place, tenantId: to }, secret)];
    });
    return Object.fromEntries(entries);
  }
}

/** The ids of endpoints and channels, in the order in which they are locked. */
function owners(transfer: Transfer): [endpoints: string[], channels: string[]] {
  const idsOf = (type: 'webhook_endpoint' | 'channel_instance'): string[] =>
    itemsOf(transfer, type).map(({ id }) => id);
  return [idsOf('webhook_endpoint'), idsOf('channel_instance')];
}
