import type { IncomingMessage, ServerResponse } from 'node:http';
import type { exportAuditLog, exportOwnAuditLog } from '@gatehouse/contract/audit';
import { jsonLines } from '@gatehouse/contract/route';
import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { ExportTurns } from '@gatehouse/http/export-turns';
import { doorHeaders } from '@gatehouse/http/reply';
import { sendPieces } from '@gatehouse/http/streamed-reply';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import type { z } from 'zod';
import { exportPageRows, exportSlots } from '../bounds.ts';
import { filterOf, showEntry, showToTenant, type AuditLogDependencies } from './audit-log-handlers.ts';
import { readTenantLog, type StoredEntry } from './audit-log-store.ts';

type OwnerCall = RawCall<z.output<typeof exportAuditLog>>;
type TenantExportCall = RawCall<z.output<typeof exportOwnAuditLog>>;

/** Entries of an export, and how they are shown until the client has left. */
interface Entries {
  read: (page: PageRequest) => Promise<PageRows<StoredEntry>>;
  show: (entry: StoredEntry) => object;
  left: AbortSignal;
}

/** `/v1/audit-log/export`, and the one of owners. A connection is used for a page at a time. */
export function auditExportHandlers({ auditLog, app }: AuditLogDependencies): Record<string, RawHandler> {
  const ownerExports = new ExportTurns(exportSlots.ofOwners);
  const tenantExports = new ExportTurns(exportSlots.ofTenants);
  return {
    'owner.audit-log.export': (request, response, call: OwnerCall) => {
      const filter = { ...filterOf(call.query), tenantId: call.query.tenant_id ?? null };
      const read = (page: PageRequest) => auditLog.list({ ...filter, ...page });
      return ownerExports.run(null, response, (left) =>
        sendEntries(request, response, call, { read, left, show: showEntry }),
      );
    },

    'audit-log.export': (request, response, call: TenantExportCall) => {
      const { tenantId } = tenantOf(call);
      const filter = { ...filterOf(call.query), tenantId };
      const read = (page: PageRequest) => readTenantLog(app, { ...filter, ...page });
      return tenantExports.run(tenantId, response, (left) =>
        sendEntries(request, response, call, { read, left, show: showToTenant }),
      );
    },
  };
}

async function sendEntries(
  request: IncomingMessage,
  response: ServerResponse,
  call: RawCall,
  { read, show, left }: Entries,
): Promise<void> {
  // Read before the head is sent: an outage then has a status.
  const first = await read({ limit: exportPageRows, before: null });
  async function* lines(): AsyncGenerator<string, void> {
    for (let page = first; ;) {
      yield page.rows.map((entry) => `${JSON.stringify(show(entry))}\n`).join('');
      const before = page.rows.at(-1)?.id;
      if (!page.more || before === undefined) return;
      page = await read({ limit: exportPageRows, before });
    }
  }
  const headers = { ...doorHeaders(call.requestId, call.dialect), 'content-type': jsonLines };
  await sendPieces(request, response, { headers, pieces: lines(), signal: left });
}
