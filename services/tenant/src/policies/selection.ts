import type { RunSelect } from '@gatehouse/contract/run-select';
import { AppError } from '@gatehouse/kit/errors';
import { maxSelectBytes } from '../bounds.ts';

/** The runs of a policy or a guardrail: names and patterns by field; fields without any are absent. */
export type Selection = Partial<RunSelect>;

/** The selection of the named fields. Throws `invalid_value` for too many bytes. */
export function selectionOf(select: Readonly<Record<string, string[] | undefined>>): Selection {
  const selection: Selection = Object.fromEntries(
    Object.entries(select)
      .map(([field, names = []]) => [field, [...new Set(names)]] as const)
      .filter(([, names]) => names.length > 0),
  );
  if (Buffer.byteLength(JSON.stringify(selection)) > maxSelectBytes)
    throw new AppError(
      'invalid_value',
      `Invalid value for select: must have at most ${maxSelectBytes} bytes.`,
      { param: 'select' },
    );
  return selection;
}

/** A selection in a message to chat, with all fields. */
export function selectionLists(selection: Selection) {
  const { api_keys: apiKeys, ...lists } = showSelection(selection);
  return { ...lists, apiKeys };
}

/** A selection of a tenant's admins, with all fields. */
export function showSelection(selection: Selection): RunSelect {
  const { users = [], groups = [] } = selection;
  return { users, groups, ...showOwnerSelection(selection) };
}

/** A selection of the owner, with all fields. */
export function showOwnerSelection({ agents = [], api_keys: keys = [], models = [] }: Selection) {
  return { agents, api_keys: keys, models };
}
