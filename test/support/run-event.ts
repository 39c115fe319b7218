import {
  RunEndObject,
  writeRunEvent,
  type RunEnded,
  type RunEventFields,
  type RunStarted,
} from '@gatehouse/events/run-event';

/** Serializes the event of a run with given times; `corrects`: of the exact end of one whose end was estimated. */
export function eventOf(source: string, run: RunStarted | RunEnded, corrects = false): string {
  return writeRunEvent(source, fieldsOf(run, corrects));
}

/** The event of a run's end as an object. */
export function eventObjectOf(source: string, run: RunEnded): RunEndObject {
  return new RunEndObject(source, fieldsOf(run, false), run);
}

function fieldsOf(run: RunStarted | RunEnded, corrects: boolean): RunEventFields {
  const { started_at: startedAt, ...others } = run;
  const endedAt = 'ended_at' in run ? new Date(run.ended_at).toISOString() : null;
  return {
    runId: run.run_id,
    tenantId: run.tenant_id,
    startedAt: new Date(startedAt).toISOString(),
    endedAt,
    corrects,
    data: JSON.stringify({ ...others, ended_at: undefined }),
  };
}
