import { factsOf } from '@gatehouse/dialects/model-facts';
import { applyChanges, type Changes } from '@gatehouse/dialects/wire/json-edits';
import { named, objectMembers, type Member } from '@gatehouse/dialects/wire/json-members';
import { listOf } from '@gatehouse/kit/fields';
import { maxHintBytes } from '../../bounds.ts';
import type { FittedBody, FittedCall } from '../provider-kind.ts';
import { HostedFields, nameOf, type HostedField } from './hosted-fields.ts';

/** Betas of Anthropic as another host takes them. */
export interface HostBetas {
  /** The name of a beta at the host; null if the model doesn't take it there. */
  nameOf(beta: string, model: string): string | null;
  /** Whether the model is known to take a beta there, so that it may be added for a field in the request. */
  isKnown(beta: string, model: string): boolean;
}

/** Anthropic's messages as other hosts of its models want them. */
export interface HostedMessages {
  /** In place of the header `anthropic-version`. */
  version: string;
  betas: HostBetas;
  /** Members with their place in the host's path. */
  withoutNames: readonly string[];
  /** JSON text of further members, where the request has no member of their name. */
  defaults?: Readonly<Record<string, string>>;
}

/** Refused in place of each beta. */
export const allBetas = '*';
/** Betas named as left out; further ones than twice as many are not read. */
const maxBetas = 20;

/**
 * Edits the text of a request with messages; everything not named here keeps its bytes. Betas stand in the body, without
 * those that the host or the model refuses, and without the fields that need them.
 */
export function hostedMessages(
  body: Buffer,
  { headers, model, refused }: Pick<FittedCall, 'headers' | 'model' | 'refused'>,
  { version, betas: host, withoutNames, defaults = {} }: HostedMessages,
): FittedBody {
  const members = objectMembers(body);
  const requested = [...new Set([...betasIn(headers), ...betasInBody(body, members)])];
  const nameAtHost = (beta: string): string | null => {
    const name = refused.has(allBetas) || refused.has(beta) ? null : host.nameOf(beta, model);
    return name === null || refused.has(name) ? null : name;
  };
  const betas = new Set(requested.map(nameAtHost).filter((name) => name !== null));
  const fields = new HostedFields(body, members);
  const claude = factsOf({ name: model }).version ?? Infinity;
  const cut = new Set<HostedField>();
  for (const field of fields.all) {
    const names = field.betas.map(nameAtHost).filter((name) => name !== null);
    const isTaken =
      names.some((name) => betas.has(name)) || (field.general !== undefined && claude >= field.general);
    const [first = ''] = field.betas;
    const known = names.find((name) => name === nameAtHost(first) && host.isKnown(name, model));
    if (refused.has(nameOf(field)) || (!isTaken && known === undefined)) cut.add(field);
    else if (!isTaken && known !== undefined) betas.add(known);
  }
  const changes: Changes = { edits: [], added: [`"anthropic_version":${JSON.stringify(version)}`] };
  const lacks = (prefix: string): boolean => ![...betas].some((beta) => beta.startsWith(prefix));
  const cutInside = fields.cut(
    { fields: cut, names: ['anthropic_version', 'anthropic_beta', ...withoutNames], lacks },
    changes.edits,
  );
  if (betas.size > 0) changes.added.push(`"anthropic_beta":${JSON.stringify([...betas])}`);
  for (const [name, text] of Object.entries(defaults))
    if (named(members, name).length === 0) changes.added.push(`${JSON.stringify(name)}:${text}`);
  const lost = requested.filter((beta) => nameAtHost(beta) === null).slice(0, maxBetas);
  const dropped = [...lost.map((beta) => `anthropic-beta.${beta}`), ...[...cut].map(nameOf), ...cutInside];
  return { body: applyChanges(body, members, changes), dropped: [...new Set(dropped)] };
}

/** The values of the header `anthropic-beta`. */
export function betasIn(headers: Readonly<Record<string, string>>): string[] {
  return betaNames((headers['anthropic-beta'] ?? '').split(','));
}

/** Clients of other hosts have them in the body. */
function betasInBody(body: Buffer, members: readonly Member[]): string[] {
  const [member] = named(members, 'anthropic_beta').slice(-1);
  if (member === undefined || member.valueEnd - member.valueStart > maxHintBytes) return [];
  const value: unknown = JSON.parse(body.toString('utf8', member.valueStart, member.valueEnd));
  return betaNames(listOf(value));
}

function betaNames(values: readonly unknown[]): string[] {
  return values
    .map((beta) => (typeof beta === 'string' ? beta.trim().toLowerCase().slice(0, 100) : ''))
    .filter((beta) => beta !== '')
    .slice(0, 2 * maxBetas);
}
