import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { TokenJobs } from './channels/token-jobs.ts';
import type { ConversationQueue } from './conversations/conversation-queue.ts';
import type { DeliveryOutbox } from './deliveries/delivery-queue.ts';
import type { TenantClient } from './peers/tenant-peer.ts';
import type { CallStore } from './calls/call-store.ts';
import { deleteExpiredCalls, findLostCalls } from './calls/call-system-store.ts';
import {
  deleteExpiredKeys,
  deleteExpiredMessages,
  findDueRefreshes,
  findEmptyConversations,
  findOverdueConversations,
} from './channels/channel-system-store.ts';
import { deleteEmpty, noteWoken } from './conversations/message-store.ts';
import { findOverdueTargets } from './deliveries/delivery-system-store.ts';
import { deleteExpiredSecrets } from './secrets/secret-store.ts';
import { findExpiredSecrets } from './secrets/secret-system-store.ts';
import { removeDeleted } from './shared/removal-system-store.ts';
import { deleteOldDeadLetters, deleteOldEvents, deleteOldMarks } from './subscriptions/event-system-store.ts';

export interface UpkeepOptions {
  app: Pool;
  system: Pool;
  calls: CallStore;
  outbox: DeliveryOutbox;
  conversations: ConversationQueue;
  tokenJobs: TokenJobs;
  tenants: TenantClient;
  log: Logger;
}

const batch = 500;
const minuteMs = 60_000;
const tenMinutesMs = 600_000;
/** A job that was added while another one of its target ended is missing at times. */
const overdueMs = 15_000;

/** Queues what is overdue: its job was lost, or was not added because one with its key was just ending. */
export async function wakeOverdue({ app, system, outbox }: UpkeepOptions): Promise<boolean> {
  const overdue = await findOverdueTargets(system, batch);
  for (const target of overdue) await withTenant(app, target.tenantId, (db) => outbox.wakeLost(db, target));
  return false;
}

/** Queues work on conversations that waits for longer than it should: a job was lost, or a tenant was not active. */
export async function wakeConversations(options: UpkeepOptions): Promise<boolean> {
  const { app, system, conversations, tenants } = options;
  const overdue = await findOverdueConversations(system, { seconds: overdueMs / 1_000, limit: batch });
  for (const { tenantId, conversationId: id, answers, sends } of overdue) {
    const isActive = await tenants.isActive(tenantId);
    await withTenant(app, tenantId, async (db) => {
      await noteWoken(db, id);
      if (isActive && answers) await conversations.answer(db, { tenantId, id });
      if (isActive && sends) await conversations.send(db, { tenantId, id });
    });
  }
  return false;
}

/** Deletes conversations without messages in which nothing has happened for long. */
export async function deleteEmptyConversations({
  app,
  system,
}: Pick<UpkeepOptions, 'app' | 'system'>): Promise<boolean> {
  const found = await findEmptyConversations(system, batch);
  for (const [tenantId, some] of Map.groupBy(found, (each) => each.tenantId))
    await withTenant(app, tenantId, (db) =>
      deleteEmpty(
        db,
        some.map(({ id }) => id),
      ),
    );
  return found.length === batch;
}

/** Deletes secrets that were replaced, once they are no longer used beside the new ones. */
export async function forgetSecrets({
  app,
  system,
}: Pick<UpkeepOptions, 'app' | 'system'>): Promise<boolean> {
  const found = await findExpiredSecrets(system, batch);
  for (const secret of found) await deleteExpiredSecrets(app, secret);
  return found.length >= batch;
}

/** Queues refreshes of tokens that are due. */
export async function refreshDue({ app, system, tokenJobs }: UpkeepOptions): Promise<boolean> {
  const due = await findDueRefreshes(system, batch);
  for (const channel of due) await withTenant(app, channel.tenantId, (db) => tokenJobs.queueDue(db, channel));
  return false;
}

/** Ends calls whose last attempt was lost with its process, and sends that as their result. */
export async function failLost({
  system,
  calls,
  outbox,
}: Pick<UpkeepOptions, 'system' | 'calls'> & {
  outbox: Pick<DeliveryOutbox, 'addResult'>;
}): Promise<boolean> {
  const lost = await findLostCalls(system, batch);
  for (const { tenantId, id } of lost) {
    const call = await calls.find(tenantId, id);
    if (call === null) continue;
    const error = { code: 'service_timeout', message: 'The call did not end within two days.' } as const;
    await calls.fail(call, error, (db) => outbox.addResult(db, { ...call, error, finishedAt: new Date() }));
  }
  return lost.length === batch;
}

/** The housekeeping of webhook, which every replica does. */
export function upkeep(options: UpkeepOptions): PeriodicWork[] {
  const { system, log } = options;
  const every = (task: string, everyMs: number, round: () => Promise<boolean>): PeriodicWork =>
    new PeriodicWork({ task, log, everyMs, round });
  const inBatches = (remove: (pool: Pool, limit: number) => Promise<number>) => async (): Promise<boolean> =>
    (await remove(system, batch)) === batch;
  return [
    every('queue overdue deliveries', overdueMs, () => wakeOverdue(options)),
    every('queue overdue conversations', overdueMs, () => wakeConversations(options)),
    every('queue refreshes of tokens', overdueMs, () => refreshDue(options)),
    every('end lost calls', tenMinutesMs, () => failLost(options)),
    every('delete expired calls', tenMinutesMs, inBatches(deleteExpiredCalls)),
    every(
      'remove deleted endpoints',
      tenMinutesMs,
      inBatches((pool, limit) => removeDeleted(pool, 'endpoints', limit)),
    ),
    every('delete expired messages', tenMinutesMs, inBatches(deleteExpiredMessages)),
    every('delete old keys of messages', tenMinutesMs, inBatches(deleteExpiredKeys)),
    every('delete empty conversations', tenMinutesMs, () => deleteEmptyConversations(options)),
    every(
      'remove deleted channels',
      tenMinutesMs,
      inBatches((pool, limit) => removeDeleted(pool, 'channels', limit)),
    ),
    every('delete replaced secrets', minuteMs, () => forgetSecrets(options)),
    every('delete old events', tenMinutesMs, inBatches(deleteOldEvents)),
    every('delete old marks of events', tenMinutesMs, inBatches(deleteOldMarks)),
    every('delete old dead letters', tenMinutesMs, inBatches(deleteOldDeadLetters)),
  ];
}
