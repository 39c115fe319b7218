import { monotonicMs } from '@gatehouse/kit/clock';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { SpanRecord } from '@gatehouse/kit/tracing';
import { status } from '@grpc/grpc-js';

export interface FinishedCall {
  context: TraceContext;
  kind: 'client' | 'server';
  /** `/package.Service/Method`. */
  path: string;
  /** The gRPC status code; undefined means OK. */
  code: status | undefined;
  /** By `monotonicMs`. */
  startedAt: number;
}

/** Status codes for a fault of the server, not of the caller. */
const serverFaults = new Set<status>([
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

/** The span of a finished call, for client or server (https://opentelemetry.io/docs/specs/semconv/rpc/grpc/). */
export function callSpan(call: FinishedCall): SpanRecord {
  const { context, kind, code = status.OK, startedAt } = call;
  const method = call.path.slice(1);
  const failed = kind === 'client' ? code !== status.OK : serverFaults.has(code);
  return {
    context,
    name: method,
    kind,
    startedAt,
    endedAt: monotonicMs(),
    attributes: {
      'rpc.system.name': 'grpc',
      'rpc.method': method,
      'rpc.status_code': status[code],
      'error.type': failed ? status[code] : undefined,
    },
    failed,
  };
}
