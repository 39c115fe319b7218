import { factsOf } from '@gatehouse/dialects/model-facts';
import { plainName } from '@gatehouse/dialects/model-names';
import { applyChanges, type Changes } from '@gatehouse/dialects/wire/json-edits';
import { named, objectMembers, type Member } from '@gatehouse/dialects/wire/json-members';
import { AppError } from '@gatehouse/kit/errors';
import { listOf } from '@gatehouse/kit/fields';
import { maxHintBytes } from '../../bounds.ts';
import type { FittedBody, FittedCall } from '../provider-kind.ts';
import { HostedFields, nameOf, type DecisiveField, type HostedField } from './hosted-fields.ts';

/** A model of Anthropic, by the name that the rules go by. */
export interface Claude {
  /** See `plainName`. */
  name: string;
  /** As `factsOf` has it. */
  version: number | null;
}

/** Betas of Anthropic as another host takes them. */
export interface HostBetas {
  /** The name of a beta at the host; null if the model doesn't take it there. */
  nameOf(beta: string, claude: Claude): string | null;
  /** Whether the model is known to take a beta there, so that it may be added for a field in the request. */
  isKnown(beta: string, claude: Claude): boolean;
}

/** Anthropic's messages as other hosts of its models want them. */
export interface HostedMessages {
  /** In place of the header `anthropic-version`. */
  version: string;
  betas: HostBetas;
  /** Whether it sends none of them, as counts do; a tool that a call takes by a beta is counted without it. */
  withoutBetas?: boolean;
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
 * those that the host or the model refuses, and without the hints that need them. A request whose meaning needs one is
 * refused.
 */
export function hostedMessages(
  body: Buffer,
  { headers, rulesName, refused }: Pick<FittedCall, 'headers' | 'rulesName' | 'refused'>,
  { version, betas: host, withoutBetas = false, withoutNames, defaults = {} }: HostedMessages,
): FittedBody | AppError {
  const members = objectMembers(body);
  const claude: Claude = { name: plainName(rulesName), version: factsOf({ name: rulesName }).version };
  const requested = [...new Set([...betasIn(headers), ...betasInBody(body, members)])];
  const nameAtHost = (beta: string): string | null => {
    const name = refused.has(allBetas) || refused.has(beta) ? null : host.nameOf(beta, claude);
    return name === null || refused.has(name) ? null : name;
  };
  const nameSent = (beta: string): string | null => (withoutBetas ? null : nameAtHost(beta));
  const betas = new Set(requested.map(nameSent).filter((name) => name !== null));
  const fields = new HostedFields(body, members);
  /** Whether the host takes a field, by a beta that is added where it must be. */
  const takes = ({ betas: needed, general }: HostedField): boolean => {
    const names = needed.map(nameSent).filter((name) => name !== null);
    const isGeneral = general !== undefined && (claude.version ?? Infinity) >= general;
    if (isGeneral || names.some((name) => betas.has(name))) return true;
    const [first = ''] = needed;
    const known = names.find((name) => name === nameSent(first) && host.isKnown(name, claude));
    if (known !== undefined) betas.add(known);
    return known !== undefined;
  };
  const isCounted = (field: HostedField): boolean =>
    withoutBetas && field.betas.some((beta) => nameAtHost(beta) !== null);
  const absent = fields.decisive.filter(({ field }) => !takes(field));
  const missing = absent.find(({ field }) => !isCounted(field));
  if (missing !== undefined) return unsupported(missing);
  const cut = new Set(fields.all.filter((field) => refused.has(nameOf(field)) || !takes(field)));
  const changes: Changes = { edits: [], added: [`"anthropic_version":${JSON.stringify(version)}`] };
  const lacks = (prefix: string): boolean => ![...betas].some((beta) => beta.startsWith(prefix));
  const cutInside = fields.cut(
    { fields: cut, names: ['anthropic_version', 'anthropic_beta', ...withoutNames], lacks },
    changes.edits,
  );
  if (betas.size > 0) changes.added.push(`"anthropic_beta":${JSON.stringify([...betas])}`);
  for (const [name, text] of Object.entries(defaults))
    if (named(members, name).length === 0) changes.added.push(`${JSON.stringify(name)}:${text}`);
  const lost = requested.filter((beta) => nameSent(beta) === null).slice(0, maxBetas);
  const dropped = [...lost.map((beta) => `anthropic-beta.${beta}`), ...[...cut].map(nameOf), ...cutInside];
  return {
    body: applyChanges(body, members, changes),
    dropped: [...new Set(dropped)],
    ...(absent.length > 0 && { isUnsure: true }),
  };
}

/** The error for a field without which a response would mean something else. */
function unsupported({ field, param, value }: DecisiveField): AppError {
  const isTool = field.path[0] === 'tools';
  const why = isTool ? `has no tool of the type ${value.slice(1, -1)}` : 'has no place for it';
  const message = `Unsupported parameter: ${param}. The provider of this model ${why}.`;
  return new AppError('unsupported_parameter', message, { param });
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
