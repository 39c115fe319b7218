import { useNames, type NamedKind } from '../api/use-names.ts';
import { urlWith, useView } from '../shell/location.tsx';
import { Icon } from './icon.tsx';

interface FilterChipsProps {
  /** The parameters of the address with their labels. */
  filters: Readonly<Record<string, string>>;
}

/** Lists with the names of ids. */
const kinds: Readonly<Record<string, NamedKind>> = {
  agent_id: 'agent',
  api_key_id: 'api_key',
  tenant_id: 'tenant',
};

/** The filters that a link has set, each with a link that takes it away. */
export function FilterChips({ filters }: FilterChipsProps) {
  const { path, query } = useView();
  const set = Object.entries(filters).filter(([name]) => query.has(name));
  if (set.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {set.map(([name, label]) => (
        <li key={name}>
          <FilterValue name={name} label={label} value={query.get(name) ?? ''} />
          <a
            href={urlWith(path, query, { [name]: '', cursor: '' })}
            aria-label={`Remove the filter ${label}`}
            title="Remove"
          >
            <Icon name="close" />
          </a>
        </li>
      ))}
    </ul>
  );
}

interface FilterValueProps {
  name: string;
  label: string;
  value: string;
}

function FilterValue({ name, label, value }: FilterValueProps) {
  const known = useNames(kinds[name] ?? null).get(value);
  return <span title={value}>{`${label}: ${known ?? value}`}</span>;
}
