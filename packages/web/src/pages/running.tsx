import type { Trace } from '@gatehouse/contract/traces';
import { elapsedSince } from '../format/times.ts';
import { FilterField } from '../parts/filter-field.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { agentColumn, keyColumn, modelColumn, startColumn, userColumn } from '../parts/run-columns.tsx';
import { StopButton } from '../parts/stop-button.tsx';
import type { Column } from '../parts/table.tsx';
import { useView } from '../shell/location.tsx';

/** Runs of one or two seconds are hardly shown. */
const refreshMs = 5_000;

/** Runs under way, each with a button to stop it. */
export function Running() {
  const { query } = useView();
  const filters = { user_id: query.get('user_id') ?? '', session_id: query.get('session_id') ?? '' };
  return (
    <>
      <div class="choices">
        <FilterField label="User" name="user_id" />
        <FilterField label="Session" name="session_id" />
      </div>
      <ResourceList
        name="GET /v1/traces"
        input={{ query: { ...filters, status: 'running' } }}
        caption="Runs under way, newest first"
        columns={columnsOf}
        keyOf={({ id }) => id}
        refreshMs={refreshMs}
        empty="Nothing is running. A run appears here a second after it has started."
      />
    </>
  );
}

function columnsOf(reload: () => void): Column<Trace>[] {
  return [
    startColumn,
    { header: 'Elapsed', cell: ({ started_at: at }) => elapsedSince(at), isNumber: true },
    ...[modelColumn, agentColumn, userColumn],
    { header: 'Session', cell: ({ session_id: id }) => <span class="line">{id ?? '–'}</span> },
    keyColumn,
    { header: 'Channel', cell: ({ channel }) => channel },
    { header: 'Actions', cell: (run) => <StopButton run={run} onDone={reload} /> },
  ];
}
