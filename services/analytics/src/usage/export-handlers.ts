import type { IncomingMessage, ServerResponse } from 'node:http';
import { csv } from '@gatehouse/contract/route';
import {
  exportDimensions,
  ownerExportDimensions,
  type Dimension,
  type ExportQuery,
  type OwnerExportQuery,
} from '@gatehouse/contract/usage';
import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { ExportTurns } from '@gatehouse/http/export-turns';
import { doorHeaders } from '@gatehouse/http/reply';
import { sendPieces } from '@gatehouse/http/streamed-reply';
import { csvLine, csvMark } from '@gatehouse/kit/csv';
import { AppError } from '@gatehouse/kit/errors';
import type { NamesClient } from '../shared/names-client.ts';
import { viewerOf } from '../shared/viewer.ts';
import type { CostExportStore, ExportOptions } from './cost-export-store.ts';
import { costColumns, type Column, type CostExport, type ExportFacts } from './cost-export.ts';
import { focusColumns, focusGroups, ownerFocusColumns, ownerFocusGroups } from './focus-columns.ts';
import { namesOfTenants, type NamesOfGroups } from './group-names-client.ts';
import { periodOf, type Period } from './period.ts';
import { filterOf } from './summary-handlers.ts';
import type { SummaryRequest } from './summary.ts';
import type { OwnerUsageStore } from './usage-store.ts';

/** Each export occupies a connection until its client has it all. A tenant has one at a time. */
export const exportConnections = 3;
/** 100,000 rows of 600 bytes at 200 kB a second. */
const longestExportMs = 300_000;

type AnyExportQuery = ExportQuery | OwnerExportQuery;

/** The groups and columns of a format. */
interface Format {
  groupBy: readonly Dimension[];
  columns: (groupBy: readonly Dimension[]) => readonly Column[];
}

type Formats = Record<AnyExportQuery['format'], Format>;

type ExportSelection = Pick<ExportFacts, 'tenantId' | 'tenantSlug'> & { user: string | null };

/** The way of a kind of callers to exports. */
interface ExportAccess<Query extends AnyExportQuery> {
  /** The selected runs; without a tenant those of all tenants. */
  selectionOf: (call: RawCall<Query>) => ExportSelection | Promise<ExportSelection>;
  read: (tenantId: string | null, request: SummaryRequest, options: ExportOptions<void>) => Promise<void>;
  namesOf: NamesOfGroups;
  formats: Formats;
}

export interface ExportDependencies {
  costs: CostExportStore;
  ownerCosts: Pick<OwnerUsageStore, 'readExport'>;
  names: NamesClient;
}

/** `/v1/costs/export` and `/internal/v1/owner/costs/export` */
export function exportHandlers(dependencies: ExportDependencies): Record<string, RawHandler> {
  const { costs, ownerCosts, names } = dependencies;
  const tenantExport = handlerFor<ExportQuery>({
    selectionOf: (call) => {
      const { tenantId, tenantSlug } = tenantOf(call);
      const { user } = viewerOf(tenantOf(call), call.query.user_id);
      return { tenantId, tenantSlug, user };
    },
    read: (tenantId, request, options) => costs.read(tenantId ?? '', request, options),
    namesOf: withoutNames,
    formats: {
      csv: { groupBy: exportDimensions, columns: costColumns },
      focus: { groupBy: focusGroups, columns: () => focusColumns },
    },
  });
  const ownerExport = handlerFor<OwnerExportQuery>({
    selectionOf: async ({ query }) => ({
      tenantId: await names.tenantOf(query),
      tenantSlug: null,
      user: null,
    }),
    read: (tenantId, request, options) => ownerCosts.readExport(tenantId, request, options),
    namesOf: namesOfTenants(names),
    formats: {
      csv: { groupBy: ownerExportDimensions, columns: costColumns },
      focus: { groupBy: ownerFocusGroups, columns: () => ownerFocusColumns },
    },
  });
  return { 'costs.export': tenantExport, 'owner.costs.export': ownerExport };
}

const withoutNames: NamesOfGroups = () => Promise.resolve((labels) => labels);

function handlerFor<Query extends AnyExportQuery>(access: ExportAccess<Query>): RawHandler {
  const turns = new ExportTurns(exportConnections);
  return (request, response, call: RawCall<Query>) =>
    turns.run(call.principal.tenantId, response, (left) => send(access, { request, response, call }, left));
}

interface ExportCall<Query extends AnyExportQuery> {
  request: IncomingMessage;
  response: ServerResponse;
  call: RawCall<Query>;
}

async function send<Query extends AnyExportQuery>(
  { selectionOf, read, namesOf, formats }: ExportAccess<Query>,
  { request, response, call }: ExportCall<Query>,
  left: AbortSignal,
): Promise<void> {
  const { query, requestId, dialect } = call;
  const { user, ...account } = await selectionOf(call);
  const { timezone } = query;
  const { groupBy, columns } = formatOf(query, formats);
  // The validators of FOCUS read the names of columns as they are.
  const hasMark = query.bom === 'true' && query.format !== 'focus';
  const period = exportedPeriod(query);
  const late = AbortSignal.timeout(longestExportMs);
  const signal = AbortSignal.any([left, late]);
  const use = async (exported: CostExport): Promise<void> => {
    const facts = { ...account, timezone, asOf: exported.asOf };
    const headers = {
      ...doorHeaders(requestId, dialect),
      'content-type': `${csv}; charset=utf-8`,
      'content-disposition': `attachment; filename="${fileName(query, period)}"`,
      'x-gateway-rows': String(exported.count),
    };
    await sendPieces(request, response, {
      headers,
      pieces: linesOf(exported, { columns, facts, hasMark, namesOf }),
      signal,
    });
  };
  const groups = { period, filter: filterOf(query, { user }), groupBy, timezone, figures: 'costs' as const };
  const bounds = query.format === 'focus' ? 'day' : null;
  await read(account.tenantId, groups, { bounds, signal, use }).catch((error: unknown) => {
    throw late.aborted ? unreadForLong(error) : error;
  });
}

function formatOf(
  { format, group_by: groupBy }: AnyExportQuery,
  formats: Formats,
): { groupBy: readonly Dimension[]; columns: readonly Column[] } {
  if (format === 'focus' && groupBy !== undefined)
    throw new AppError('invalid_value', 'Invalid value for group_by: format=focus has rows of its own.', {
      param: 'group_by',
    });
  const { groupBy: byDefault, columns } = formats[format];
  const groups = groupBy ?? byDefault;
  return { groupBy: groups, columns: columns(groups) };
}

/** Times of FOCUS have no fractions of a second, so without `to` it leaves out the second under way. */
function exportedPeriod(query: AnyExportQuery): Period {
  const now = new Date();
  const isFocus = query.format === 'focus';
  if (isFocus) now.setUTCMilliseconds(0);
  const period = periodOf(query, now);
  for (const name of ['from', 'to'] as const)
    if (isFocus && period[name].getUTCMilliseconds() !== 0)
      throw new AppError(
        'invalid_value',
        `Invalid value for ${name}: format=focus takes no fractions of a second.`,
        { param: name },
      );
  return period;
}

interface Lines {
  columns: readonly Column[];
  facts: ExportFacts;
  hasMark: boolean;
  namesOf: NamesOfGroups;
}

async function* linesOf(
  { pages }: CostExport,
  { columns, facts, hasMark, namesOf }: Lines,
): AsyncGenerator<string, void> {
  yield (hasMark ? csvMark : '') + csvLine(columns.map(([name]) => name));
  for await (const page of pages) {
    const labels = page.map((row) => row.labels);
    const keyOf = await namesOf(null, labels);
    const rows = page.map((row) => ({ ...row, labels: keyOf(row.labels) }));
    yield rows.map((row) => csvLine(columns.map(([, cell]) => cell(row, facts)))).join('');
  }
}

function fileName({ format }: AnyExportQuery, { from, to }: Period): string {
  const [first, end] = [from, to].map((time) => time.toISOString().slice(0, 10));
  return `costs-${first ?? ''}-${end ?? ''}${format === 'focus' ? '-focus' : ''}.csv`;
}

function unreadForLong(cause: unknown): AppError {
  return new AppError('service_timeout', 'The export was cut: its client took too long to read it.', {
    cause,
  });
}
