import type { AuditEntry } from '@gatehouse/contract/audit';
import { useView } from '../shell/location.tsx';
import { FilterField } from './filter-field.tsx';
import type { Column } from './table.tsx';
import { Time } from './time.tsx';

/** The filters of an audit log in the address of the view. */
export function useAuditFilters(): { action: string; actor: string } {
  const { query } = useView();
  return { action: query.get('action') ?? '', actor: query.get('actor') ?? '' };
}

export function AuditFilters() {
  return (
    <>
      <FilterField label="Action" name="action" hint="For example api_key.created" />
      <FilterField label="Actor" name="actor" hint="The id of a key" />
    </>
  );
}

/** The columns of an audit log. */
export const auditColumns: readonly Column<AuditEntry>[] = [
  { header: 'At', cell: ({ at }) => <Time at={at} /> },
  { header: 'Action', cell: ({ action }) => <code>{action}</code> },
  { header: 'By', cell: ({ actor }) => actor.user_id ?? actor.role },
  { header: 'Key', cell: ({ actor }) => <code>{actor.key_id ?? '–'}</code> },
  { header: 'Resource', cell: ({ resource }) => <code>{`${resource.type} ${resource.id}`}</code> },
  { header: 'From', cell: ({ client_ip: address }) => address ?? '–' },
  {
    header: 'Change',
    cell: ({ before, after }) => (
      <details>
        <summary>Show</summary>
        <pre tabIndex={0} aria-label="Change">
          {JSON.stringify({ before, after }, null, 2)}
        </pre>
      </details>
    ),
  },
];
