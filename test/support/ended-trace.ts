import { eventually } from './eventually.ts';
import type { SomeGateway } from './some-gateway.ts';

/** Waits for the only run with this id, request id or session to end, and returns its row in analytics. */
export async function endedTrace(
  gateway: Pick<SomeGateway, 'rows'>,
  column: 'id' | 'request_id' | 'session_id',
  value: string | null,
): Promise<Record<string, unknown>> {
  return eventually(async () => {
    const traces = await gateway.rows('analytics', `select * from analytics.traces where ${column} = $1`, [
      value,
    ]);
    const [trace] = traces;
    if (traces.length === 1 && trace !== undefined && trace['ended_at'] !== null) return trace;
    throw new Error(`not one ended run with ${column} ${value ?? 'null'}: ${JSON.stringify(traces)}`);
  });
}
