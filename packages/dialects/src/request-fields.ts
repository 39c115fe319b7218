import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';

/** Checks of the fields of requests, in every dialect. All throw 400s with the name of the field. */

type Kind = 'string' | 'number' | 'boolean' | 'array' | 'object';

/** The possible types of a field's values, by its name. */
export type FieldTypes = Readonly<Record<string, readonly Kind[]>>;

export function objectOf(parsed: unknown): Fields {
  if (kindOf(parsed) !== 'object')
    throw new AppError('invalid_type', 'The request body must be a JSON object.');
  return parsed as Fields;
}

export function modelOf(fields: Fields): string {
  const { model } = fields;
  if (model === undefined) throw missing('model');
  if (typeof model !== 'string') throw wrongType('model', ['string']);
  if (model === '') throw new AppError('invalid_value', 'model must not be empty.', { param: 'model' });
  return model;
}

/**
 * Checks the types of an API's known fields; null passes for each. `decisive`: names of further fields, with their
 * checks elsewhere.
 */
export function checkTypes(fields: Fields, known: FieldTypes, decisive: readonly string[]): void {
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const kinds = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kinds === undefined) refuseVariant(name, known, decisive);
    // OpenAI takes null for any optional field.
    if (kinds === undefined || value === null) continue;
    const kind = kindOf(value);
    if (kind === null || !kinds.includes(kind)) throw wrongType(name, kinds);
  }
}

/**
 * Servers with field names in any case (Go's encoding/json) would take `Model` for the model, and the gateway has
 * checked and priced another one.
 */
function refuseVariant(name: string, known: FieldTypes, decisive: readonly string[]): void {
  const plain = name.toUpperCase().toLowerCase();
  if (plain === name || !(Object.hasOwn(known, plain) || decisive.includes(plain))) return;
  const param = name.slice(0, 200);
  throw new AppError('unknown_parameter', `Unknown field: ${param}. Did you mean ${plain}?`, { param });
}

/** Checks the roles and contents of messages. `needContent`: whether each must have one. */
export function checkMessages(messages: unknown, { needContent }: { needContent: boolean }): void {
  if (messages === undefined) throw missing('messages');
  if (!Array.isArray(messages)) throw wrongType('messages', ['array']);
  if (messages.length === 0)
    throw new AppError('invalid_value', 'messages must not be empty.', { param: 'messages' });
  for (const [index, message] of messages.entries()) {
    if (kindOf(message) !== 'object') throw wrongType(`messages[${index}]`, ['object']);
    const { role, content } = message as Fields;
    if (role === undefined) throw missing(`messages[${index}].role`);
    if (typeof role !== 'string') throw wrongType(`messages[${index}].role`, ['string']);
    if (!needContent && (content === undefined || content === null)) continue;
    if (content === undefined) throw missing(`messages[${index}].content`);
    const kind = kindOf(content);
    if (kind !== 'string' && kind !== 'array')
      throw wrongType(`messages[${index}].content`, ['string', 'array']);
  }
}

export function kindOf(value: unknown): Kind | null {
  if (Array.isArray(value)) return 'array';
  if (value === null) return null;
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'object' ? type : null;
}

export function missing(param: string): AppError {
  return new AppError('missing_required_parameter', `Missing required field: ${param}.`, { param });
}

export function wrongType(param: string, kinds: readonly Kind[]): AppError {
  return new AppError('invalid_type', `Invalid type for ${param}: expected ${kinds.join(' or ')}.`, {
    param,
  });
}

/** Parses a session id; null otherwise. */
export function sessionNamed(value: unknown): string | null {
  return typeof value === 'string' && /^[\x20-\x7e]{1,255}$/.test(value) ? value : null;
}

/** How much a request lets a model think. */
export interface Thinking {
  /** Budgets of tokens, each by one of its names at providers. */
  budgets: readonly number[];
  /** The word for it, `high` for example; `none` where thinking is off, null where the model decides. */
  effort: string | null;
}

/** Longer than any word for an effort. */
const maxChars = 16;

export const noThinking: Thinking = { budgets: [], effort: 'none' };

/** A member of a request as the word for an effort. */
export function effortIn(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, maxChars).toLowerCase() : null;
}

/** A further model of a request, by the provider's name. */
export interface OtherModel {
  name: string;
  /** The field of the request with it. */
  param: string;
}
