import { randomBytes } from 'node:crypto';
import { channelType, maxChannelInstances } from '@gatehouse/contract/channel-instances';
import { maxEndpoints, type DeliverTo } from '@gatehouse/contract/webhook-endpoints';
import { AppError } from '@gatehouse/kit/errors';
import type { Queryable } from '@gatehouse/pg/pool';
import type { StepWork } from '@gatehouse/transfers/run-step';
import {
  decrypted,
  hex,
  insertRow,
  lockRows,
  readRow,
  unhex,
  unlockRows,
  type RowTexts,
} from '@gatehouse/transfers/store/rows';
import { inTarget } from '@gatehouse/transfers/store/transfer-state';
import { itemsOf, type Transfer, type TransferItem, type TransferStep } from '@gatehouse/transfers/transfer';
import { newStandardSecret } from '../signatures/signing-secret.ts';
import type { SecretPlace, WebhookSecrets } from '../secrets/webhook-secrets.ts';
import { adapterOf, type ChannelAdapters } from '../channels/adapters.ts';
import { countChannels } from '../channels/channel-store.ts';
import { countEndpoints } from '../endpoints/endpoint-store.ts';
import { revisionOf } from './transfer-store.ts';
import type { Moves } from './moves-store.ts';

const tables = {
  'webhook.endpoints': { type: 'webhook_endpoint', most: maxEndpoints, count: countEndpoints },
  'webhook.channel_instances': {
    type: 'channel_instance',
    most: maxChannelInstances,
    count: countChannels,
  },
} as const;
type Table = keyof typeof tables;
const tableNames = Object.keys(tables) as Table[];

/**
 * The part of endpoints and channels: copies of their settings, without calls and conversations, or moves of all of it.
 * Names may repeat, so nothing is reserved in the target.
 */
export class WebhookSteps {
  readonly #adapters: ChannelAdapters;
  readonly #secrets: WebhookSecrets;
  readonly #moves: Moves;

  constructor(options: { adapters: ChannelAdapters; secrets: WebhookSecrets; moves: Moves }) {
    this.#adapters = options.adapters;
    this.#secrets = options.secrets;
    this.#moves = options.moves;
  }

  get steps(): Record<TransferStep, StepWork> {
    return {
      lock: (db, transfer) => this.#lock(db, transfer),
      copy: () => Promise.resolve(true),
      close: (db, transfer) => this.#moves.close(db, transfer),
      commit: (db, transfer) =>
        transfer.mode === 'move' ? this.#moves.move(db, transfer) : this.#commitCopy(db, transfer),
      abort: async (db, transfer) => {
        if (transfer.mode === 'move') await this.#moves.open(db, transfer);
        return unlock(db, transfer);
      },
    };
  }

  async #lock(db: Queryable, transfer: Transfer): Promise<boolean> {
    for (const table of tableNames) {
      const items = itemsOf(transfer, tables[table].type);
      if (items.length === 0) continue;
      await lockRows(db, { table, revision: revisionOf[table] }, items, transfer.id);
      const { most, count } = tables[table];
      // Finds undecryptable secrets before anything is effective.
      for (const item of items)
        if (transfer.mode === 'move') await this.#moves.assertReadable(db, transfer, tableOf[table], item.id);
        else this.#othersOf(table, await readRow(db, table, item.id), { transfer, item });
      const there = await inTarget(db, transfer, () => count(db, transfer.targetTenantId));
      if (there + items.length > most)
        throw new AppError('limit_reached', `The target may have ${most} of these.`);
    }
    return true;
  }

  async #commitCopy(db: Queryable, transfer: Transfer): Promise<boolean> {
    for (const table of tableNames)
      for (const item of itemsOf(transfer, tables[table].type)) {
        const row = await readRow(db, table, item.id);
        const others = this.#othersOf(table, row, { transfer, item });
        await inTarget(db, transfer, () => insertRow(db, table, row, { others }));
      }
    return unlock(db, transfer);
  }

  #othersOf(
    table: Table,
    row: RowTexts,
    { transfer, item }: { transfer: Transfer; item: TransferItem },
  ): Record<string, unknown> {
    const { items, sourceTenantId, targetTenantId: tenantId } = transfer;
    const agent = items.find(({ type, id }) => type === 'agent' && id === row['agent_id']);
    const common = {
      ...{ id: item.targetId, tenant_id: tenantId, name: item.targetName, locked_by: null, closed: false },
      agent_id: agent?.targetId ?? row['agent_id'],
    };
    const from = (column: 'secret' | 'callback_secret' | 'credentials') => {
      const place = { table: tableOf[table], column };
      return {
        old: { ...place, tenantId: sourceTenantId, id: item.id },
        next: { ...place, tenantId, id: item.targetId },
      };
    };
    if (table === 'webhook.channel_instances') {
      const places = from('credentials');
      const known = JSON.parse(
        decrypted(() => this.#secrets.open(places.old, unhex(row['credentials'] ?? ''))),
      ) as object;
      return {
        ...common,
        ...{ enabled: false, status: 'pending', status_reason: null, paused_until: null },
        // Tokens stay with the source. Random ones verify nothing until an admin sends others.
        credentials: hex(
          this.#secrets.seal(places.next, JSON.stringify(unusable(this.#adapters, row['type'] ?? '', known))),
        ),
        ...{ access_token: null, refresh_token: null, refresh_due_at: null, token_at: null },
        ...{ refresh_claim: null, refresh_claimed_until: null },
        ...{ previous_credentials: null, previous_credentials_expire_at: null },
        previous_credentials_accepted_until: null,
      };
    }
    const sealed = (column: 'secret' | 'callback_secret') => {
      const places = from(column);
      const isKept = transfer.withSecrets;
      return hex(
        this.#secrets.seal(
          places.next,
          isKept
            ? decrypted(() => this.#secrets.open(places.old, unhex(row[column] ?? '')))
            : newStandardSecret(),
        ),
      );
    };
    return {
      ...common,
      ...{ secret: sealed('secret'), callback_secret: sealed('callback_secret') },
      ...{ previous_secret: null, previous_secret_expires_at: null },
      ...{ previous_callback_secret: null, previous_callback_secret_expires_at: null, failing_since: null },
      deliver_to: copiedDeliverTo(row['deliver_to'] ?? null, transfer),
    };
  }
}

const tableOf = {
  'webhook.endpoints': 'endpoints',
  'webhook.channel_instances': 'channel_instances',
} as const satisfies Record<Table, SecretPlace['table']>;

/** The setting with the copy of its channel; null if the channel is not copied too. */
function copiedDeliverTo(text: string | null, { items }: Transfer): string | null {
  if (text === null) return null;
  const { channel_instance_id: channelId, conversation } = JSON.parse(text) as DeliverTo;
  const channel = items.find(({ type, id }) => type === 'channel_instance' && id === channelId);
  return channel === undefined
    ? null
    : JSON.stringify({ channel_instance_id: channel.targetId, conversation });
}

async function unlock(db: Queryable, transfer: Transfer): Promise<boolean> {
  for (const table of tableNames) await unlockRows(db, table, transfer.id);
  return true;
}

/** Credentials with the same members, which no provider knows. */
function unusable(adapters: ChannelAdapters, type: string, known: object): Record<string, string> {
  const { unusable: random = () => randomBytes(32).toString('base64url') } = adapterOf(
    adapters,
    channelType.parse(type),
  );
  return Object.fromEntries(Object.keys(known).map((name) => [name, random()]));
}
