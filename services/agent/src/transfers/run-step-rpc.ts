import { maxMcpServers } from '@gatehouse/contract/mcp-servers';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Queryable } from '@gatehouse/pg/pool';
import {
  decrypted,
  hex,
  insertRow,
  keepRows,
  lockRows,
  readRow,
  unhex,
  unlockRows,
  type RowTexts,
} from '@gatehouse/transfers/store/rows';
import { inTarget } from '@gatehouse/transfers/store/transfer-state';
import type { StepWork } from '@gatehouse/transfers/run-step';
import {
  itemsOf,
  skippedOf,
  type Transfer,
  type TransferItem,
  type TransferStep,
} from '@gatehouse/transfers/transfer';
import type { AuthSecrets, PublicAuth } from '../mcp/mcp-server.ts';
import type { SealedColumn } from '../secrets/sealed-column.ts';
import { countMcpServers } from '../servers/server-store.ts';
import {
  closeAgents,
  deleteHidden,
  deleteRow,
  isRefreshing,
  nameConstraints as names,
  openAgents,
  readSharedLogin,
  showHidden,
  type TransferTable,
  revisionOf,
} from './transfer-store.ts';

const typeOf = { 'agent.agents': 'agent', 'agent.mcp_servers': 'mcp_server' } as const;
/** Servers first: agents name them. */
const tables = ['agent.mcp_servers', 'agent.agents'] as const;

export interface AgentStepsOptions {
  /** Secrets of MCP servers and of logins. */
  servers: SealedColumn;
  logins: SealedColumn;
}

/**
 * The part of agents and MCP servers in a transfer. `lock` brings each to the target, hidden, to reserve its name; a
 * moving one has another id there until the end, when it replaces the row of the source.
 */
export class AgentSteps {
  readonly #options: AgentStepsOptions;

  constructor(options: AgentStepsOptions) {
    this.#options = options;
  }

  get steps(): Record<TransferStep, StepWork> {
    return {
      lock: (db, transfer) => this.#lock(db, transfer),
      copy: () => Promise.resolve(true),
      close: (db, transfer) => close(db, transfer),
      commit: (db, transfer) => this.#commit(db, transfer),
      abort: (db, transfer) => abort(db, transfer),
    };
  }

  async #lock(db: Queryable, transfer: Transfer): Promise<boolean> {
    for (const table of tables) {
      const items = itemsOf(transfer, typeOf[table]);
      await lockRows(db, { table, revision: revisionOf[table] }, items, transfer.id);
      // The step may run again.
      await inTarget(db, transfer, async () => {
        await deleteHidden(db, table, transfer.id);
        const skippedIds = skippedOf(transfer, typeOf[table]).map(({ targetId }) => targetId);
        await keepRows(db, table, skippedIds, transfer.id);
        if (table === 'agent.mcp_servers' && items.length > 0) await assertRoom(db, transfer, items.length);
      });
      for (const item of items) {
        // Undecryptable secrets are found before anything is effective.
        if (table === 'agent.mcp_servers' && item.action === 'move')
          await this.#openLogin(db, transfer, item);
        const id = item.action === 'move' ? newId() : item.targetId;
        await this.#bring(db, transfer, { table, item, id, arrivingIn: transfer.id });
      }
    }
    return true;
  }

  async #commit(db: Queryable, transfer: Transfer): Promise<boolean> {
    // Tokens under refresh would be lost.
    if (await isRefreshing(db, movingServers(transfer))) return false;
    for (const table of tables) {
      await inTarget(db, transfer, async () => {
        if (transfer.mode === 'copy') await showHidden(db, table, transfer.id);
        else await deleteHidden(db, table, transfer.id);
        await unlockRows(db, table, transfer.id);
      });
      if (transfer.mode === 'move')
        for (const item of itemsOf(transfer, typeOf[table]))
          await this.#bring(db, transfer, { table, item, id: item.id, arrivingIn: null });
      await unlockRows(db, table, transfer.id);
    }
    return true;
  }

  async #openLogin(
    db: Queryable,
    { sourceTenantId: tenantId }: Transfer,
    { id }: TransferItem,
  ): Promise<void> {
    const shared = await readSharedLogin(db, id);
    if (shared !== null)
      decrypted(() => this.#options.logins.open({ tenantId, id: shared.id }, shared.secrets));
  }

  /** A resource keeping its id leaves the source. */
  async #bring(
    db: Queryable,
    transfer: Transfer,
    {
      table,
      item,
      id,
      arrivingIn,
    }: { table: TransferTable; item: TransferItem; id: string; arrivingIn: string | null },
  ): Promise<void> {
    const { sourceTenantId, targetTenantId: tenantId } = transfer;
    const row = await readRow(db, table, item.id);
    const isServer = table === 'agent.mcp_servers';
    const shared = isServer && arrivingIn === null ? await readSharedLogin(db, item.id) : null;
    const login = shared === null ? null : await readRow(db, 'agent.mcp_logins', shared.id);
    const common = { id, tenant_id: tenantId, locked_by: null, arriving_in: arrivingIn };
    const connectionId = newId();
    const others = isServer
      ? {
          ...common,
          name: item.targetName,
          ...this.#moveServer(row, { transfer, id, connectionId, shared: shared !== null }),
        }
      : { ...common, key: item.targetName, closed: false, tools: toolsOf(row, transfer) };
    if (id === item.id) await deleteRow(db, table, id);
    await inTarget(db, transfer, async () => {
      await insertRow(db, table, row, { others, names });
      if (shared === null || login === null) return;
      const plain = this.#options.logins.open({ tenantId: sourceTenantId, id: shared.id }, shared.secrets);
      const secrets = hex(this.#options.logins.seal({ tenantId, id: shared.id }, plain));
      await insertRow(db, 'agent.mcp_logins', login, {
        others: {
          ...{ tenant_id: tenantId, connection_id: connectionId, secrets },
          ...{ refresh_claim: null, refresh_claimed_until: null },
        },
      });
    });
  }

  #moveServer(
    row: RowTexts,
    {
      transfer,
      id,
      connectionId,
      shared,
    }: { transfer: Transfer; id: string; connectionId: string; shared: boolean },
  ): Record<string, unknown> {
    const auth = JSON.parse(row['auth'] ?? '') as PublicAuth;
    const secrets = row['secrets'] ?? null;
    const { servers } = this.#options;
    const fresh = { connection_id: connectionId, failures: 0, retry_at: null, tools_expire_at: null };
    const needsLogin = auth.type === 'oauth' && !shared;
    const sealed =
      transfer.withSecrets && secrets !== null
        ? servers.seal(
            { tenantId: transfer.targetTenantId, id },
            withoutBinding(
              decrypted(() =>
                servers.open({ tenantId: transfer.sourceTenantId, id: row['id'] ?? '' }, unhex(secrets)),
              ),
              transfer,
            ),
          )
        : null;
    const lacksAuth = needsLogin || (auth.type !== 'none' && auth.type !== 'oauth' && sealed === null);
    return {
      ...fresh,
      secrets: sealed === null ? null : hex(sealed),
      ...(lacksAuth &&
        row['status'] !== 'disabled' && {
          status: 'needs_auth',
          status_reason: 'The transfer to this tenant left the secrets or logins behind.',
        }),
    };
  }
}

async function assertRoom(db: Queryable, { targetTenantId }: Transfer, more: number): Promise<void> {
  if ((await countMcpServers(db, targetTenantId)) + more <= maxMcpServers) return;
  throw new AppError('limit_reached', `The target may have ${maxMcpServers} MCP servers.`);
}

/** A client registered by the gateway belongs to one tenant: a copy registers itself. */
function withoutBinding(plain: string, { mode }: Transfer): string {
  if (mode === 'move') return plain;
  const secrets = JSON.parse(plain) as AuthSecrets;
  return 'binding' in secrets ? JSON.stringify({ ...secrets, binding: undefined }) : plain;
}

async function close(db: Queryable, transfer: Transfer): Promise<boolean> {
  await closeAgents(
    db,
    itemsOf(transfer, 'agent').map(({ id }) => id),
  );
  return !(await isRefreshing(db, movingServers(transfer)));
}

function movingServers(transfer: Transfer): string[] {
  return transfer.mode === 'copy' ? [] : itemsOf(transfer, 'mcp_server').map(({ id }) => id);
}

async function abort(db: Queryable, transfer: Transfer): Promise<boolean> {
  await openAgents(db, transfer.id);
  for (const table of tables) {
    await unlockRows(db, table, transfer.id);
    await inTarget(db, transfer, async () => {
      await deleteHidden(db, table, transfer.id);
      await unlockRows(db, table, transfer.id);
    });
  }
  return true;
}

/**
 * The tools of an agent, with the names of its servers in the target. A name without a server in the source is left
 * out: in the target it would mean a server of somebody else.
 */
function toolsOf(row: RowTexts, { items }: Transfer): Record<string, unknown> {
  const tools = JSON.parse(row['tools'] ?? '{}') as Record<string, unknown> & { mcp_servers?: string[] };
  const nameOf = new Map(
    items.filter(({ type }) => type === 'mcp_server').map(({ name, targetName }) => [name, targetName]),
  );
  const renamed = (tools.mcp_servers ?? []).flatMap((ref) => {
    const [server = '', ...tool] = ref.split('/');
    const name = nameOf.get(server);
    return name === undefined ? [] : [[name, ...tool].join('/')];
  });
  return { ...tools, mcp_servers: renamed };
}
