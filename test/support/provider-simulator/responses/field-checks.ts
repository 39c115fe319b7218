import { RefusedRequest } from '../errors.ts';
import { isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { invalid, wrongType, wrongValue } from './refusals.ts';

/** Checks the value of a field. @throws RefusedRequest (400) */
export type FieldCheck = (value: unknown, param: string) => void;

export function text(value: unknown, param: string): asserts value is string {
  if (typeof value !== 'string') throw wrongType(param, 'a string', value);
}

export function flag(value: unknown, param: string): asserts value is boolean {
  if (typeof value !== 'boolean') throw wrongType(param, 'a boolean', value);
}

export function object(value: unknown, param: string): asserts value is JsonObject {
  if (!isObject(value)) throw wrongType(param, 'an object', value);
}

export function list(value: unknown, param: string): asserts value is unknown[] {
  if (!Array.isArray(value)) throw wrongType(param, 'an array', value);
}

export function textOrObject(value: unknown, param: string): void {
  if (typeof value !== 'string' && !isObject(value)) {
    throw wrongType(param, 'one of a string or an object', value);
  }
}

export function shortText(most: number): FieldCheck {
  return (value, param) => {
    text(value, param);
    const { length } = value;
    if (length <= most) return;
    throw invalid(
      param,
      `string too long. Expected a string with maximum length ${most}, but got a string with length ${length} instead.`,
      'string_above_max_length',
    );
  };
}

export function oneOf(...words: string[]): FieldCheck {
  return (value, param) => {
    text(value, param);
    if (!words.includes(value)) throw wrongValue(param, value, words);
  };
}

export function integer(least: number, most = Infinity): FieldCheck {
  return (value, param) => {
    if (!Number.isInteger(value)) throw wrongType(param, 'an integer', value);
    checkBounds(Number(value), param, { kind: 'integer', least, most });
  };
}

export function decimal(least: number, most: number): FieldCheck {
  return (value, param) => {
    if (typeof value !== 'number') throw wrongType(param, 'a decimal', value);
    checkBounds(value, param, { kind: 'decimal', least, most });
  };
}

interface Bounds {
  kind: 'integer' | 'decimal';
  least: number;
  most: number;
}

function checkBounds(value: number, param: string, { kind, least, most }: Bounds): void {
  if (value < least) {
    throw invalid(
      param,
      `${kind} below minimum value. Expected a value >= ${least}, but got ${value} instead.`,
      `${kind}_below_min_value`,
    );
  }
  if (value > most) {
    throw invalid(
      param,
      `${kind} above maximum value. Expected a value <= ${most}, but got ${value} instead.`,
      `${kind}_above_max_value`,
    );
  }
}

export function nullable(check: FieldCheck): FieldCheck {
  return (value, param) => {
    if (value !== null) check(value, param);
  };
}

/** An object whose fields are all known. */
export function objectOf(fields: Record<string, FieldCheck>): FieldCheck {
  return (value, param) => {
    object(value, param);
    checkFields(value, fields, `${param}.`);
  };
}

/** Checks the fields that are there. @throws RefusedRequest (400) for an unknown one too. */
export function checkFields(value: JsonObject, fields: Record<string, FieldCheck>, prefix = ''): void {
  for (const [field, entry] of Object.entries(value)) {
    const param = `${prefix}${field}`;
    const check = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (check === undefined) {
      throw new RefusedRequest(`Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' });
    }
    check(entry, param);
  }
}
