import { writeRunEvent, type RunEnded, type RunStarted } from '@gatehouse/events/run-event';

/** The event about a run whose times are known. */
export function eventOf(source: string, run: RunStarted | RunEnded): string {
  const { started_at: startedAt, ...data } = run;
  const endedAt = 'ended_at' in run ? new Date(run.ended_at) : null;
  return writeRunEvent(source, {
    runId: run.run_id,
    tenantId: run.tenant_id,
    startedAt: new Date(startedAt),
    endedAt,
    json: JSON.stringify({ ...data, ended_at: undefined }),
  });
}
