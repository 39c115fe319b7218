import type { Dimension, GroupKey } from '@gatehouse/contract/usage';
import type { PeriodName } from '../format/period.ts';
import { byText } from '../format/order.ts';
import type { DataColumn } from './data-table.tsx';
import { Name } from './name.tsx';

type Key = Partial<GroupKey>;

/** Runs without a value of a dimension. */
const without: Partial<Record<Dimension, string>> = {
  agent: 'No agent',
  user: 'No user',
  api_key: 'No key',
  session: 'No session',
  group: 'No group',
};

/** Beside figures by groups of users. A chart of them would add up to more than was spent. */
export const countedInEach =
  'A run counts in each group that its user had when it began, and once in the total.';

/** The filters of the page of runs by their dimension. */
const filters: Partial<Record<Dimension, string>> = {
  agent: 'agent_id',
  user: 'user_id',
  session: 'session_id',
  api_key: 'api_key_id',
  model: 'model',
  provider: 'provider',
  channel: 'channel',
  dialect: 'dialect',
};

/** The name of a group whose value is an id: null if the API doesn't know it, absent for other values. */
function nameOf(dimension: Dimension, key: Key): string | null | undefined {
  if (dimension === 'agent') return key.agent_key ?? null;
  if (dimension === 'api_key') return key.api_key_name ?? null;
  if (dimension === 'tenant') return key.tenant_name ?? null;
  return undefined;
}

/** The text of a group: its name, or its value. */
export function groupText(dimension: Dimension, key: Key): string {
  const value = key[dimension] ?? null;
  if (value === null) return without[dimension] ?? 'None';
  return nameOf(dimension, key) ?? value;
}

/** A page about a group. */
export type GroupLink = (dimension: Dimension, value: string) => string | undefined;

/**
 * Links of groups to their runs in a period, newest first or by a header of the runs; of groups of users, to the usage
 * of these.
 */
export function runsIn(period: PeriodName, sort?: 'Cost'): GroupLink {
  return (dimension, value) => {
    if (dimension === 'group')
      return `/app/usage?${new URLSearchParams({ period, group: value, by: 'user' }).toString()}`;
    const filter = filters[dimension];
    if (dimension !== 'day' && filter === undefined) return undefined;
    const filtered = dimension === 'day' ? { period: value } : { period, [filter ?? '']: value };
    return `/app/traces?${new URLSearchParams({ ...filtered, ...(sort !== undefined && { sort }) }).toString()}`;
  };
}

/** A column with the groups of one dimension, each with a link. */
export function groupColumn<Row extends { key: Key }>(
  header: string,
  dimension: Dimension,
  hrefOf: GroupLink,
): DataColumn<Row> {
  const text = ({ key }: Row): string => groupText(dimension, key);
  const cell = (row: Row) => {
    const value = row.key[dimension] ?? null;
    if (value === null) return <span class="faint">{text(row)}</span>;
    const href = hrefOf(dimension, value);
    const name = nameOf(dimension, row.key);
    if (name !== undefined) return <Name id={value} name={name} {...(href !== undefined && { href })} />;
    return href === undefined ? value : <a href={href}>{value}</a>;
  };
  return { header, cell, text, value: ({ key }) => key[dimension] ?? null, compare: byText(text) };
}
