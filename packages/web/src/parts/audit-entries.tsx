import type { AuditEntry } from '@gatehouse/contract/audit';
import { dayAfter, startOfDay } from '../format/times.ts';
import { useView } from '../shell/location.tsx';
import { usePerson } from '../shell/session.tsx';
import type { Names } from '../api/use-names.ts';
import { FilterField } from './filter-field.tsx';
import { Name } from './name.tsx';
import type { Column } from './table.tsx';
import { Time } from './time.tsx';

/** The filters of an audit log in the address of the view; both days of `from` and `to` are included. */
export function useAuditFilters(): Record<'action' | 'actor' | 'from' | 'to', string> {
  const { query } = useView();
  const { timezone } = usePerson();
  const valueOf = (name: string): string => query.get(name) ?? '';
  return {
    action: valueOf('action'),
    actor: valueOf('actor'),
    from: momentOf(valueOf('from'), (day) => startOfDay(day, timezone)),
    to: momentOf(valueOf('to'), (day) => startOfDay(dayAfter(day), timezone)),
  };
}

/** Another text than a day goes to the API as it is, which says what is wrong with it. */
function momentOf(text: string, startOf: (day: string) => Date): string {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
  return isDay ? startOf(text).toISOString() : text;
}

export function AuditFilters() {
  return (
    <>
      <FilterField label="Action" name="action" hint="For example api_key.created" />
      <FilterField label="Actor" name="actor" hint="Key ID" />
      <FilterField label="From" name="from" type="date" />
      <FilterField label="To" name="to" type="date" />
    </>
  );
}

/** The columns of an audit log. */
export const auditColumns = (keys: Names): readonly Column<AuditEntry>[] => [
  { header: 'Time', cell: ({ at }) => <Time at={at} /> },
  { header: 'Action', cell: ({ action }) => <code>{action}</code> },
  { header: 'Actor', cell: ({ actor }) => actor.user_id ?? actor.role },
  {
    header: 'Key',
    cell: ({ actor: { key_id: id } }) => (id === null ? '–' : <Name id={id} name={keys.get(id)} />),
  },
  {
    header: 'Resource',
    cell: ({ resource: { type, id }, before, after }) => (
      <>
        {type.replaceAll('_', ' ')} <Name id={id} name={nameIn(after) ?? nameIn(before)} />
      </>
    ),
  },
  { header: 'IP address', cell: ({ client_ip: address }) => address ?? '–' },
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

/** The name in the state of a resource, if it has one. */
function nameIn(state: unknown): string | null {
  if (typeof state !== 'object' || state === null || !('name' in state)) return null;
  return typeof state.name === 'string' ? state.name : null;
}
