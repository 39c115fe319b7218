import { applyChanges, removeMembers, type Changes } from '@gatehouse/dialects/wire/json-edits';
import { named, objectMembers } from '@gatehouse/dialects/wire/json-members';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

/** Anthropic's messages as other hosts of its models want them. */
export interface HostedMessages {
  /** In place of the header `anthropic-version`. */
  version: string;
  /** Those of the header `anthropic-beta`, which stand in the body. */
  betas: readonly string[];
  /** Members with their place in the host's path. */
  withoutNames: readonly string[];
  /** JSON text of further members, where the request has no member of their name. */
  defaults?: Readonly<Record<string, string>>;
}

/** Edits the text of a request with messages; everything not named here keeps its bytes. */
export function hostedMessages(
  body: Buffer,
  { version, betas, withoutNames, defaults = {} }: HostedMessages,
): Pieces {
  const members = objectMembers(body);
  const changes: Changes = { edits: [], added: [`"anthropic_version":${JSON.stringify(version)}`] };
  removeMembers(members, new Set([...withoutNames, 'anthropic_version']), changes.edits);
  const added = { ...defaults, ...(betas.length > 0 && { anthropic_beta: JSON.stringify(betas) }) };
  for (const [name, text] of Object.entries(added))
    if (named(members, name).length === 0) changes.added.push(`${JSON.stringify(name)}:${text}`);
  return applyChanges(body, members, changes);
}

/** The values of the header `anthropic-beta`. */
export function betasIn(headers: Readonly<Record<string, string>>): string[] {
  return (headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '');
}
