import type { FollowTraces, Trace } from '@gatehouse/contract/traces';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { NamesClient } from '../shared/names-client.ts';
import { viewerOf, type Viewer } from '../shared/viewer.ts';
import { decodeCursor, encodeCursor, positionAfter } from './trace-cursor.ts';
import type { ChangeFilter, TraceStore } from './trace-store.ts';
import { showTrace } from './trace-view.ts';

const defaultSinceMs = 3_600_000;
const pollAfterMs = 1_000;

interface TraceStores {
  runs: TraceStore;
  refused: Pick<TraceStore, 'find'>;
}

/** `/v1/traces*` */
export function traceHandlers(
  { runs: traces, refused }: TraceStores,
  names: NamesClient,
): Record<string, Handler> {
  return {
    'traces.follow': async (call: Call<unknown, FollowTraces>) => {
      const { query } = call;
      const viewer = viewerOf(tenantOf(call), query.user_id);
      const filter = filterOf(query, viewer);
      const scopeOf = (cluster: string) => ({ cluster, filters: { tenant: viewer.tenantId, ...filter } });
      const since = query.since === undefined ? new Date(Date.now() - defaultSinceMs) : new Date(query.since);
      const changes = await traces.changes(
        viewer.tenantId,
        (cluster) => (query.cursor === undefined ? since : decodeCursor(query.cursor, scopeOf(cluster))),
        { ...filter, limit: query.limit, spans: query.include_spans },
      );
      const page = new BoundedItems<Trace>();
      const view = {
        viewer,
        names: await names.namesOf(viewer, changes.rows),
        withSpans: query.include_spans,
      };
      const size = page.addAll(changes.rows, (row) => showTrace(row, view));
      const last = size < changes.rows.length ? changes.rows[size - 1] : undefined;
      const hasMore = changes.hasMore || last !== undefined;
      const position = last === undefined ? changes.position : positionAfter(last);
      return {
        body: {
          traces: page.items,
          next_cursor: encodeCursor(position, scopeOf(changes.cluster)),
          has_more: hasMore,
          server_time: changes.now.toISOString(),
          poll_after_ms: hasMore ? 0 : pollAfterMs,
        },
      };
    },

    'traces.get': async (call: Call) => {
      const viewer = viewerOf(tenantOf(call), undefined);
      const id = call.params['id'] ?? '';
      const { tenantId } = viewer;
      const row = isUuid(id)
        ? ((await traces.find(tenantId, id)) ?? (await refused.find(tenantId, id)))
        : null;
      if (row === null || (viewer.user !== null && row.user_id !== viewer.user))
        throw new AppError('not_found', `There is no trace ${JSON.stringify(id.slice(0, 100))}.`);
      const view = { viewer, names: await names.namesOf(viewer, [row]), withSpans: true };
      return { body: showTrace(row, view) };
    },
  };
}

function filterOf(query: FollowTraces, viewer: Viewer): ChangeFilter {
  return {
    agentId: query.agent_id ?? null,
    sessionId: query.session_id ?? null,
    user: viewer.user,
    status: query.status ?? null,
    channel: query.channel ?? null,
    traceId: query.trace_id ?? null,
  };
}
