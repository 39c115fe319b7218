import type { UserDataDeletion } from '@gatehouse/contract/users';
import { useEffect } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { progressMs } from '../bounds.ts';
import { KnownAnswer } from './known-answer.tsx';
import { DataTable, type DataColumn } from './data-table.tsx';
import { Status } from './status.tsx';

/** How far the services are with the deletion of the data of a user. */
export function DeletionProgress({ user, id }: { user: string; id: string }) {
  const known = useAnswer('GET /v1/users/{user_id}/data/deletions/{id}', { params: { user_id: user, id } });
  const { answer, reload } = known;
  useEffect(() => {
    if (answer?.status === 'completed') return;
    const timer = setInterval(reload, progressMs);
    return () => clearInterval(timer);
  }, [answer?.status, reload]);
  return (
    <KnownAnswer known={known}>
      {(deletion: UserDataDeletion) => (
        <DataTable
          caption={`Deletion of the data of ${user}: ${deletion.status}`}
          file="deletion.csv"
          columns={columns}
          rows={deletion.services}
          keyOf={({ service }) => service}
          empty="No service has begun."
        />
      )}
    </KnownAnswer>
  );
}

const columns: readonly DataColumn<UserDataDeletion['services'][number]>[] = [
  { header: 'Service', cell: ({ service }) => service, value: ({ service }) => service },
  { header: 'Status', cell: ({ status }) => <Status state={status} />, value: ({ status }) => status },
  { header: 'Removed', cell: ({ counts }) => countsText(counts), value: ({ counts }) => countsText(counts) },
];

function countsText(counts: Readonly<Record<string, number>>): string {
  const texts = Object.entries(counts).map(([kind, number]) => `${number} ${kind.replaceAll('_', ' ')}`);
  return texts.length === 0 ? 'nothing' : texts.join(', ');
}
