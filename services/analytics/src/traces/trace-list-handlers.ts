import type { ListTraces, Trace } from '@gatehouse/contract/traces';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { BoundedItems, type Page } from '@gatehouse/http/pagination';
import type { NamesClient } from '../shared/names-client.ts';
import { viewerOf, type Viewer } from '../shared/viewer.ts';
import { periodOf, type Period } from '../usage/period.ts';
import { decodeListCursor, encodeListCursor, positionOf } from './list-cursor.ts';
import { filterOf, searchesPreviews, type TraceSearch } from './trace-filter.ts';
import type { TraceListStore } from './trace-list-store.ts';
import { showTrace } from './trace-view.ts';

/** The lists of runs and of refused requests. */
interface TraceLists {
  runs: TraceListStore;
  refused: TraceListStore;
}

/** `GET /v1/traces` */
export function traceListHandlers(
  { runs, refused }: TraceLists,
  names: NamesClient,
): Record<string, Handler> {
  return {
    'traces.list': async (call: Call<unknown, ListTraces>) => {
      const { q, sort = 'started_at', limit, cursor, from, to } = call.query;
      const viewer = viewerOf(tenantOf(call), call.query.user_id);
      const { tenantId } = viewer;
      const conditions = filterOf(call.query, viewer);
      const isRefused = conditions.status === 'refused';
      const scope = { tenant: tenantId, q, sort, from, to, conditions: JSON.stringify(conditions) };
      const place =
        cursor === undefined ? null : decodeListCursor(cursor, scope, isRefused ? 'started_at' : sort);
      const period = place ?? periodOf(call.query, new Date());
      const search = q === undefined ? null : await searchOf(q, { viewer, period, names });
      const after = place?.position ?? null;
      const request = { period, sort, after, limit, filter: { ...conditions, search } };
      const { rows, next } = await (isRefused ? refused : runs).list(tenantId, request);
      const view = { viewer, names: await names.namesOf(viewer, rows), withSpans: false };
      const items = new BoundedItems<Trace>();
      const size = items.addAll(rows, (row) => showTrace(row, view));
      const last = size < rows.length ? rows[size - 1] : undefined;
      const position = last === undefined ? next : positionOf(last);
      const body: Page<Trace> = {
        data: items.items,
        has_more: position !== null,
        next_cursor: position && encodeListCursor({ position, from: period.from, to: period.to }, scope),
      };
      return { body };
    },
  };
}

async function searchOf(
  text: string,
  { viewer, period, names }: { viewer: Viewer; period: Period; names: NamesClient },
): Promise<TraceSearch> {
  const { agents, apiKeys } = await names.idsNamed(viewer, text);
  return { text, agentIds: agents, apiKeyIds: apiKeys, previews: searchesPreviews(viewer, period) };
}
