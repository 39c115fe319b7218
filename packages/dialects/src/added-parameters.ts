import type { Changes } from './wire/json-edits.ts';
import { named, type Member } from './wire/json-members.ts';
import type { TokenLimit } from './dialect.ts';

/** A request of an API whose parameters are members of its body. */
interface Parameters {
  body: Buffer;
  members: readonly Member[];
  /** The agent's parameters that are added, in the names of the API. */
  fields: readonly (readonly [name: string, value: unknown])[];
  /** The API's name for the limit of an answer. */
  limitName: string;
}

/** Adds an agent's parameters, and lowers the limit of the answer: the client's, the agent's, or one that is added. */
export function addParameters(
  { body, members, fields: fields, limitName }: Parameters,
  maxTokens: TokenLimit | null,
  { edits, added }: Changes,
): void {
  const most = maxTokens?.most ?? Infinity;
  for (const [name, value] of fields)
    added.push(
      `${JSON.stringify(name)}:${JSON.stringify(name === limitName ? Math.min(Number(value), most) : value)}`,
    );
  if (maxTokens === null) return;
  const limits = named(members, limitName);
  for (const { valueStart: at, valueEnd: until } of limits) {
    const requested = Number(body.toString('latin1', at, until));
    if (!(requested >= 0 && requested < most)) edits.push({ at, until, text: String(most) });
  }
  if (limits.length === 0 && !fields.some(([name]) => name === limitName))
    added.push(`"${limitName}":${most}`);
}
