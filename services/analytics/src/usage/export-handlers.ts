import type { IncomingMessage, ServerResponse } from 'node:http';
import { csv } from '@gatehouse/contract/route';
import { exportDimensions, type Dimension, type ExportQuery } from '@gatehouse/contract/usage';
import { tenantOf, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { ExportTurns } from '@gatehouse/http/export-turns';
import { doorHeaders } from '@gatehouse/http/reply';
import { sendPieces } from '@gatehouse/http/streamed-reply';
import { csvLine, csvMark } from '@gatehouse/kit/csv';
import { AppError } from '@gatehouse/kit/errors';
import { viewerOf } from '../shared/viewer.ts';
import type { CostExportStore } from './cost-export-store.ts';
import { costColumns, type Column, type CostExport, type ExportFacts } from './cost-export.ts';
import { focusColumns, focusGroups } from './focus-columns.ts';
import { periodOf, type Period } from './period.ts';
import { filterOf } from './summary-handlers.ts';

/** Each export occupies a connection until its client has it all. A tenant has one at a time. */
export const exportConnections = 3;
/** 100,000 rows of 600 bytes at 200 kB a second. */
const longestExportMs = 300_000;

/** The rows of an export, and the columns they become. */
interface Format {
  groupBy: readonly Dimension[];
  bounds: 'day' | null;
  columns: readonly Column[];
}

interface ExportCall {
  request: IncomingMessage;
  response: ServerResponse;
  call: RawCall<ExportQuery>;
}

/** `/v1/costs/export` */
export function exportHandlers(costs: CostExportStore): Record<string, RawHandler> {
  const turns = new ExportTurns(exportConnections);
  return {
    'costs.export': (request, response, call: RawCall<ExportQuery>) =>
      turns.run(tenantOf(call).tenantId, response, (left) => send(costs, { request, response, call }, left)),
  };
}

async function send(
  costs: CostExportStore,
  { request, response, call }: ExportCall,
  left: AbortSignal,
): Promise<void> {
  const { query, requestId, dialect } = call;
  const principal = tenantOf(call);
  const viewer = viewerOf(principal, query.user_id);
  const { tenantId, tenantSlug } = principal;
  const { timezone } = query;
  const { columns, groupBy, bounds } = formatOf(query);
  // The validators of FOCUS read the names of columns as they are.
  const hasMark = query.bom === 'true' && query.format !== 'focus';
  const period = exportedPeriod(query);
  const late = AbortSignal.timeout(longestExportMs);
  const signal = AbortSignal.any([left, late]);
  const use = async (exported: CostExport): Promise<void> => {
    const facts = { tenantId, tenantSlug, timezone, asOf: exported.asOf };
    const headers = {
      ...doorHeaders(requestId, dialect),
      'content-type': `${csv}; charset=utf-8`,
      'content-disposition': `attachment; filename="${fileName(query, period)}"`,
      'x-gateway-rows': String(exported.count),
    };
    await sendPieces(request, response, {
      headers,
      pieces: linesOf(exported, { columns, facts, hasMark }),
      signal,
    });
  };
  const groups = { period, filter: filterOf(query, viewer), groupBy, timezone, figures: 'costs' as const };
  await costs.read(tenantId, groups, { bounds, signal, use }).catch((error: unknown) => {
    throw late.aborted ? unreadForLong(error) : error;
  });
}

function formatOf({ format, group_by: groupBy }: ExportQuery): Format {
  if (format === 'csv') {
    const groups = groupBy ?? exportDimensions;
    return { groupBy: groups, bounds: null, columns: costColumns(groups) };
  }
  if (groupBy !== undefined)
    throw new AppError('invalid_value', 'Invalid value for group_by: format=focus has rows of its own.', {
      param: 'group_by',
    });
  return { groupBy: focusGroups, bounds: 'day', columns: focusColumns };
}

/** Times of FOCUS have no fractions of a second, so without `to` it leaves out the second under way. */
function exportedPeriod(query: ExportQuery): Period {
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

async function* linesOf(
  { pages }: CostExport,
  { columns, facts, hasMark }: { columns: readonly Column[]; facts: ExportFacts; hasMark: boolean },
): AsyncGenerator<string, void> {
  yield (hasMark ? csvMark : '') + csvLine(columns.map(([name]) => name));
  for await (const page of pages)
    yield page.map((row) => csvLine(columns.map(([, cell]) => cell(row, facts)))).join('');
}

function fileName({ format }: ExportQuery, { from, to }: Period): string {
  const [first, end] = [from, to].map((time) => time.toISOString().slice(0, 10));
  return `costs-${first ?? ''}-${end ?? ''}${format === 'focus' ? '-focus' : ''}.csv`;
}

function unreadForLong(cause: unknown): AppError {
  return new AppError('service_timeout', 'The export was cut: its client took too long to read it.', {
    cause,
  });
}
