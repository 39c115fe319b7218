import type { RunSelect } from '@gatehouse/contract/run-select';
import { LinesField } from './fields.tsx';
import { selectable } from './policy-draft.ts';
import type { useFields } from './use-fields.ts';

interface SelectDraft extends Record<keyof RunSelect, readonly string[]> {
  tenants: readonly string[];
}

const hints: Readonly<Record<keyof RunSelect, string>> = {
  users: 'Ids of users',
  groups: 'Names of groups, of which a user needs one',
  agents: 'Ids or keys',
  api_keys: 'Ids of keys',
  models: 'For example gpt-5*',
};

interface SelectFieldsProps {
  field: ReturnType<typeof useFields<SelectDraft>>['field'];
  isOwner: boolean;
}

/** The runs that a policy or a guardrail is for. */
export function SelectFields({ field, isOwner }: SelectFieldsProps) {
  const ownerNames: readonly (keyof RunSelect)[] = ['agents', 'api_keys', 'models'];
  const names = isOwner ? ownerNames : (['users', 'groups', ...ownerNames] as const);
  return (
    <>
      {names.map((name) => (
        <LinesField
          key={name}
          label={selectable[name]}
          {...field(name)}
          param={`select.${name}`}
          rows={2}
          hint={`${hints[name]}, one per line; * stands for any text. Empty: all`}
        />
      ))}
      {isOwner ? (
        <LinesField label="Tenants" {...field('tenants')} rows={2} hint="Ids, one per line. Empty: all" />
      ) : null}
    </>
  );
}
