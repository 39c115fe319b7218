import type { Changes } from '@gatehouse/audited-changes/changes';
import type { CreateTransfer, listTransfers as listShape, WireTransfer } from '@gatehouse/contract/transfers';
import type { Call, Handler } from '@gatehouse/http/app';
import { pageReply } from '@gatehouse/http/pagination';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError, isErrorCode } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { PageRequest } from '@gatehouse/kit/page';
import type { z } from 'zod';
import { findPreview } from './preview-store.ts';
import { findTransfer, insertTransfer, listTransfers, type ReadVisible } from './transfer-store.ts';
import { changedInSource, changedSince, contentOf, showTransfer, type TransferJobs } from './transfer.ts';
import { assertFresh, assertOpen, type Preview } from './preview.ts';
import type { TargetSide } from './transfer-plan.ts';
import type { TransferParties } from './parties.ts';

const what = 'transfer';

export interface TransferDependencies {
  parties: TransferParties;
  read: ReadVisible;
  jobs: TransferJobs;
  changes: Changes;
}

type List = Call<unknown, z.output<typeof listShape>>;

/** `/v1/tenant/resource-transfers`: for owners, and for admins of either tenant. */
export function transferHandlers({
  parties,
  read,
  jobs,
  changes,
}: TransferDependencies): Record<string, Handler> {
  return {
    'transfers.create': async (call: Call<CreateTransfer>) => {
      const { principal, clientIp, requestId } = call;
      const previewId = call.body.preview_id.toLowerCase();
      const preview = orNotFound(await read(principal, (db) => findPreview(db, previewId)), 'preview');
      const { plan } = preview;
      if (principal.tenantId !== null && principal.tenantId !== plan.sourceTenantId)
        throw new AppError('role_missing', 'Only an owner or an admin of the source can begin a transfer.');
      // Its secrets travel, and its target was not asked.
      if (preview.byOwner && principal.tenantId !== null)
        throw new AppError('role_missing', 'Only an owner can begin what an owner has previewed.');
      if (preview.target === null && principal.tenantId !== null)
        throw new AppError('not_accepted', 'An admin of the target has not accepted the transfer.');
      assertOpen(preview);
      await parties.activeTenant(plan.sourceTenantId, 'preview_id');
      const target = await parties.activeTenant(plan.targetTenantId, 'preview_id');
      const now = await parties.described(plan, target, (source) =>
        assertFresh(changedInSource(preview, source)),
      );
      // An owner may begin what the target was not asked about.
      assertFresh(changedSince({ ...preview, target: preview.target ?? now.target }, now.source, now.target));
      assertPossible(preview, now.target);
      return changes.change(call, async (db) => {
        const locked = orNotFound(await findPreview(db, previewId, 'for update'), 'preview');
        assertOpen(locked);
        const { mode, sourceTenantId, targetTenantId } = plan;
        const actor = { key_id: principal.keyId, role: principal.role, user_id: principal.userId };
        const transfer = await insertTransfer(db, jobs, {
          ...{ id: newId(), previewId, mode, sourceTenantId, targetTenantId },
          ...contentOf({ ...locked, target: locked.target ?? now.target }),
          asked: { actor, clientIp, requestId },
        });
        const view = showTransfer(transfer, principal.tenantId);
        const body = call.dryRun ? withoutNewIds(view) : view;
        return {
          body,
          headers: { location: `/v1/tenant/resource-transfers/${transfer.id}` },
          changes: [
            {
              action: 'transfer.started',
              id: transfer.id,
              tenantId: sourceTenantId,
              before: null,
              after: body,
            },
          ],
        };
      });
    },

    'transfers.get': async ({ principal, params }: Call) => {
      const id = resourceId(params, what);
      const transfer = orNotFound(await read(principal, (db) => findTransfer(db, id)), what);
      return { body: showTransfer(transfer, principal.tenantId) };
    },

    'transfers.list': (call: List) => {
      const { principal } = call;
      const rows = (page: PageRequest) => read(principal, (db) => listTransfers(db, page));
      return pageReply(call, rows, (transfer) => showTransfer(transfer, principal.tenantId));
    },
  };
}

/** A transfer of a dry run: its copies have no ids. */
function withoutNewIds({ items, ...transfer }: WireTransfer): WireTransfer {
  return {
    ...transfer,
    items: items.map((item) => (item.action === 'copy' ? { ...item, target_id: null } : item)),
  };
}

/** Throws why the target would not take it. */
function assertPossible({ plan }: Preview, { conflicts, problems }: TargetSide): void {
  const [problem] = problems;
  if (problem !== undefined)
    throw new AppError(isErrorCode(problem.code) ? problem.code : 'limit_reached', problem.message);
  const [conflict] = plan.onConflict === 'fail' ? conflicts : [];
  if (conflict === undefined) return;
  const isAgent = conflict.type === 'agent';
  throw new AppError(
    isAgent ? 'agent_key_taken' : 'mcp_name_taken',
    `The target has ${isAgent ? 'an agent with the same key' : 'an MCP server with the same name'}: ${conflict.existingId}.`,
  );
}
