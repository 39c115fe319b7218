import type { IncomingMessage, ServerResponse } from 'node:http';
import type { exportAuditLog, exportOwnAuditLog } from '@gatehouse/contract/audit';
import { jsonLines } from '@gatehouse/contract/route';
import { leaving, tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { doorHeaders } from '@gatehouse/http/reply';
import { sendPieces } from '@gatehouse/http/streamed-reply';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { retryAfterHeaders } from '@gatehouse/kit/retry-after';
import type { PageRows } from '@gatehouse/kit/page';
import type { z } from 'zod';
import {
  filterOf,
  showEntry,
  withoutOwnersAddress,
  type AuditLogDependencies,
} from './audit-log-handlers.ts';
import type { AuditFilter, KeptEntry } from './audit-log-statements.ts';

type OwnerCall = RawCall<z.output<typeof exportAuditLog>>;
type OwnCall = RawCall<z.output<typeof exportOwnAuditLog>>;

/** No tenant has this id. */
const owners = 'owners';
const pageSize = 200;
const longestWaitMs = 7_000;

const exportsInFlight = {
  perKey: 1,
  slots: 4,
  maxWaiting: 4,
  longestWait: { ms: longestWaitMs, error: allBusy },
};

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  call: RawCall;
}

/** `/v1/audit-log/export`, and the one of owners. A connection is used for a page at a time. */
export function auditExportHandlers({
  auditLog,
  ofTenant,
}: AuditLogDependencies): Record<string, RawHandler> {
  const turns = new FairQueue(exportsInFlight);
  return {
    'owner.audit-log.export': (request, response, call: OwnerCall) => {
      const filter = { ...filterOf(call.query), tenantId: call.query.tenant_id ?? null };
      const left = leaving(response);
      const read = (page: Pick<AuditFilter, 'limit' | 'before'>) => auditLog.list({ ...filter, ...page });
      const send = () => sendEntries({ request, response, call }, { read, left, show: showEntry });
      return turns.run(owners, send, left);
    },

    'audit-log.export': (request, response, call: OwnCall) => {
      const { tenantId } = tenantOf(call);
      const filter = { ...filterOf(call.query), tenantId };
      const left = leaving(response);
      const read = (page: Pick<AuditFilter, 'limit' | 'before'>) => ofTenant.list({ ...filter, ...page });
      const show = (entry: KeptEntry) => withoutOwnersAddress(showEntry(entry));
      const send = () => sendEntries({ request, response, call }, { read, left, show });
      return turns.run(tenantId, send, left);
    },
  };
}

async function sendEntries(
  { request, response, call }: Exchange,
  {
    read,
    show,
    left,
  }: {
    read: (page: Pick<AuditFilter, 'limit' | 'before'>) => Promise<PageRows<KeptEntry>>;
    show: (entry: KeptEntry) => object;
    left: AbortSignal;
  },
): Promise<void> {
  // Before the head, so that an outage has a status.
  const first = await read({ limit: pageSize, before: null });
  async function* lines(): AsyncGenerator<string, void> {
    for (let page = first; ;) {
      yield page.rows.map((entry) => `${JSON.stringify(show(entry))}\n`).join('');
      const before = page.rows.at(-1)?.id;
      if (!page.more || before === undefined) return;
      page = await read({ limit: pageSize, before });
    }
  }
  const headers = { ...doorHeaders(call.requestId, call.dialect), 'content-type': jsonLines };
  await sendPieces(request, response, { headers, pieces: lines(), signal: left });
}

function allBusy(): AppError {
  return new AppError(
    'service_unavailable',
    'Other exports of the audit log are under way. Try again shortly.',
    {
      headers: retryAfterHeaders(longestWaitMs),
    },
  );
}
