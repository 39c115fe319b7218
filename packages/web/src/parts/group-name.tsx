import type { Dimension } from '@gatehouse/contract/usage';
import { useMemo } from 'preact/hooks';
import { useNames, type NamedKind, type Names } from '../api/use-names.ts';
import { byText } from '../format/order.ts';
import { usePerson } from '../shell/session.tsx';
import { may } from '../shell/rights.ts';
import type { DataColumn } from './data-table.tsx';
import { Name } from './name.tsx';

type Key = Partial<Record<Dimension, string | null>>;

/** The names of groups of a summary. */
export interface GroupNames {
  names: Partial<Record<Dimension, Names>>;
  /** The text of a group: a name, or the value itself. */
  textOf: (dimension: Dimension, key: Key) => string;
}

/** Runs without a value of a dimension. */
const without: Partial<Record<Dimension, string>> = {
  agent: 'No agent',
  user: 'No user',
  api_key: 'No key',
  session: 'No session',
};

/** The filters of runs by their dimension, as pages and API name them. */
const filters: Partial<Record<Dimension, string>> = {
  agent: 'agent_id',
  user: 'user_id',
  session: 'session_id',
  api_key: 'api_key_id',
  model: 'model',
  provider: 'provider',
  channel: 'channel',
};

/** Names for the ids of a summary with these groups, where the person may list them. */
export function useGroupNames(groups: readonly Dimension[]): GroupNames {
  const person = usePerson();
  const mayList = {
    agent: may(person, { scope: 'agents.read' }),
    api_key: may(person, { scope: 'keys.write' }),
  };
  const kindFor = (kind: Exclude<NamedKind, 'tenant'>) =>
    groups.includes(kind) && mayList[kind] ? kind : null;
  const agent = useNames(kindFor('agent'));
  const apiKey = useNames(kindFor('api_key'));
  return useMemo(() => {
    const names = { agent, api_key: apiKey };
    const textOf: GroupNames['textOf'] = (dimension, key) => {
      const value = key[dimension] ?? null;
      if (value === null) return without[dimension] ?? 'None';
      const known = dimension === 'agent' || dimension === 'api_key' ? names[dimension] : undefined;
      return known === undefined ? value : (known.get(value) ?? value);
    };
    return { names, textOf };
  }, [agent, apiKey]);
}

interface GroupColumnContext {
  names: GroupNames;
  /** The period, which the linked list of runs has too. */
  range: { from: string; to: string };
}

/** A column with the groups of one dimension: their names, each with a link to its runs. */
export function groupColumn<Row extends { key: Key }>(
  header: string,
  dimension: Dimension,
  { names, range }: GroupColumnContext,
): DataColumn<Row> {
  const text = ({ key }: Row): string => names.textOf(dimension, key);
  const filter = filters[dimension];
  const cell = (row: Row) => {
    const id = row.key[dimension] ?? null;
    if (id === null) return <span class="faint">{text(row)}</span>;
    const { from, to } = range;
    const href =
      filter === undefined
        ? undefined
        : `/app/traces?${new URLSearchParams({ [filter]: id, from, to }).toString()}`;
    const known = names.names[dimension];
    if (known !== undefined)
      return <Name id={id} name={known.get(id)} {...(href !== undefined && { href })} />;
    return href === undefined ? id : <a href={href}>{id}</a>;
  };
  return { header, cell, text, value: ({ key }) => key[dimension] ?? null, compare: byText(text) };
}
