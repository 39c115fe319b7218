import { validateHeaderName, validateHeaderValue } from 'node:http';
import { RefusedRequest } from './errors.ts';
import type { WireError } from './errors.ts';
import { isObject, isWholeNumber } from './values.ts';

/** One or several faults. README.md describes each field. */
export interface Fault {
  /** Delay before the headers, in milliseconds. */
  delay_ms?: number;
  /** Delay between the headers and the first byte of the body, in milliseconds. */
  first_chunk_delay_ms?: number;
  /** Delay before each content chunk in milliseconds, on an absolute schedule. */
  chunk_delay_ms?: number;
  /** Number of content chunks (words w1 … wn, or `content` split into this many pieces). */
  chunks?: number;
  /** 300–599: returns an error with this status. */
  status?: number;
  error?: Partial<WireError>;
  retry_after?: string | number;
  /** Additional response headers. */
  headers?: Record<string, string>;
  cut?: 'before_headers' | 'after_headers' | 'mid_stream' | 'before_done';
  /** Content chunks before `mid_stream` (cut or silent); by default half of them. */
  cut_after_chunks?: number;
  end_without_done?: boolean;
  end_after_chunks?: number;
  silent?: 'before_headers' | 'after_headers' | 'mid_stream';
  malformed?: 'json' | 'sse';
  error_event_after_chunks?: number;
  huge_chunk_bytes?: number;
  /** Length of the message, code and param of the error. */
  huge_error_bytes?: number;
  /** Length of the model name in the response. */
  huge_model_bytes?: number;
  split_utf8?: boolean;
  one_write?: boolean;
  crlf?: boolean;
  comments?: boolean;
  no_usage?: boolean;
  usage?: UsageOverride;
  usage_in_last_choice_chunk?: boolean;
  ignore_include_usage?: boolean;
  usage_in_choice?: boolean;
  zeros_last?: boolean;
  empty_finish_reasons?: boolean;
  other_kind?: boolean;
  content?: string;
  /** Messages, responses and Gemini: thinking of this many pieces, requested or not. */
  thinking?: number;
  /** Messages only: a block of redacted thinking. */
  redacted_thinking?: boolean;
  /** Messages only: the event of a stream that alone has the input tokens. */
  input_usage?: 'start' | 'delta';
  /** Calls exactly these tools, until they have answered `tool_rounds` times. A string is sent unchanged. */
  tool_calls?: { name: string; arguments: unknown }[];
  /** The limit of tokens ends the answer in the arguments of the last call. */
  calls_cut?: boolean;
  /** Default: 1. */
  tool_rounds?: number;
  wrong_content_type?: boolean;
}

export interface UsageOverride {
  prompt_tokens?: number;
  completion_tokens?: number;
  cached_tokens?: number;
  reasoning_tokens?: number;
  /** Messages and responses; like `cached_tokens`, a part of `prompt_tokens`. */
  cache_write_tokens?: number;
}

/** The body of `POST /control/fault` and the argument of `setFault`: applies to every request until cleared. */
export interface StandingFault extends Fault {
  /** By the model of the request; overrides the other fields. */
  models?: Record<string, Fault>;
}

/** The field `x_simulator` of a request body. */
export interface Instructions extends StandingFault {
  /** Identifies a logical request; the same in all its attempts. */
  id?: string;
  /** The fault of the n-th request with this id; overrides the other fields. */
  attempts?: Fault[];
}

/** Compared by identity: the fast path requires this object. */
export const noFault: Fault = Object.freeze({});

interface Check {
  accepts: (value: unknown) => boolean;
  expected: string;
}

const wholeNumber: Check = { accepts: isWholeNumber, expected: 'a non-negative integer' };
const flag: Check = { accepts: (value) => typeof value === 'boolean', expected: 'a boolean' };
const text: Check = { accepts: (value) => typeof value === 'string', expected: 'a string' };

function oneOf(...values: string[]): Check {
  return {
    accepts: (value) => typeof value === 'string' && values.includes(value),
    expected: `one of ${values.join(', ')}`,
  };
}

function objectWith(fields: Record<string, (value: unknown) => boolean>): Check {
  return {
    accepts: (value) =>
      isObject(value) && Object.entries(value).every(([field, entry]) => fields[field]?.(entry) ?? false),
    expected: `an object with ${Object.keys(fields).join(', ')}`,
  };
}

/** Checked here, because Node would throw only while the response is sent. */
function isHeader(name: string, value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

const nullableText = (value: unknown): boolean => value === null || typeof value === 'string';

const faultChecks: { [Field in keyof Required<Fault>]: Check } = {
  delay_ms: wholeNumber,
  first_chunk_delay_ms: wholeNumber,
  chunk_delay_ms: wholeNumber,
  chunks: wholeNumber,
  status: { accepts: (value) => isWholeNumber(value) && value >= 300 && value <= 599, expected: '300–599' },
  error: objectWith({
    message: text.accepts,
    type: nullableText,
    param: nullableText,
    code: (value) => nullableText(value) || typeof value === 'number',
  }),
  retry_after: {
    accepts: (value) => isWholeNumber(value) || isHeader('retry-after', value),
    expected: 'a header value or a non-negative integer',
  },
  headers: {
    accepts: (value) =>
      isObject(value) && Object.entries(value).every(([name, entry]) => isHeader(name, entry)),
    expected: 'an object of header values',
  },
  cut: oneOf('before_headers', 'after_headers', 'mid_stream', 'before_done'),
  cut_after_chunks: wholeNumber,
  end_without_done: flag,
  end_after_chunks: wholeNumber,
  calls_cut: flag,
  silent: oneOf('before_headers', 'after_headers', 'mid_stream'),
  malformed: oneOf('json', 'sse'),
  error_event_after_chunks: wholeNumber,
  huge_chunk_bytes: wholeNumber,
  huge_error_bytes: wholeNumber,
  huge_model_bytes: wholeNumber,
  split_utf8: flag,
  one_write: flag,
  crlf: flag,
  comments: flag,
  no_usage: flag,
  usage: objectWith({
    prompt_tokens: isWholeNumber,
    completion_tokens: isWholeNumber,
    cached_tokens: isWholeNumber,
    reasoning_tokens: isWholeNumber,
    cache_write_tokens: isWholeNumber,
  }),
  usage_in_last_choice_chunk: flag,
  ignore_include_usage: flag,
  usage_in_choice: flag,
  zeros_last: flag,
  empty_finish_reasons: flag,
  other_kind: flag,
  content: text,
  thinking: wholeNumber,
  redacted_thinking: flag,
  input_usage: oneOf('start', 'delta'),
  tool_calls: {
    accepts: (value) =>
      Array.isArray(value) &&
      value.every((call) => isObject(call) && typeof call['name'] === 'string' && 'arguments' in call),
    expected: 'an array of {name, arguments}',
  },
  tool_rounds: wholeNumber,
  wrong_content_type: flag,
};

function isFaultField(field: string): field is keyof Fault {
  return Object.hasOwn(faultChecks, field);
}

function refuse(param: string, reason: string): never {
  throw new RefusedRequest(`Invalid simulator instruction '${param}': ${reason}.`, {
    param,
    code: 'invalid_simulator_instruction',
  });
}

/** Checks fault fields; passes other fields to `other`, which rejects unknown ones. */
function checkFields(value: unknown, path: string, other: (field: string, entry: unknown) => void): void {
  if (!isObject(value)) refuse(path, 'expected an object');
  for (const [field, entry] of Object.entries(value)) {
    if (!isFaultField(field)) other(field, entry);
    else if (!faultChecks[field].accepts(entry)) {
      refuse(`${path}.${field}`, `expected ${faultChecks[field].expected}`);
    }
  }
}

function checkFault(value: unknown, path: string): void {
  checkFields(value, path, (field) => refuse(`${path}.${field}`, 'unknown field'));
}

function checkModels(value: unknown, path: string): void {
  if (!isObject(value)) refuse(path, 'expected an object of faults');
  for (const [model, fault] of Object.entries(value)) checkFault(fault, `${path}.${model}`);
}

/** @throws RefusedRequest (400) with the first field that is unknown or of the wrong type. */
export function parseStandingFault(value: unknown): StandingFault {
  checkFields(value, 'fault', (field, entry) => {
    if (field === 'models') checkModels(entry, 'fault.models');
    else refuse(`fault.${field}`, 'unknown field');
  });
  return value as StandingFault; // every field was checked just above
}

/** @throws RefusedRequest (400) with the first field that is unknown or of the wrong type. */
export function parseInstructions(value: unknown): Instructions | null {
  if (value === undefined || value === null) return null;
  checkFields(value, 'x_simulator', (field, entry) => {
    const path = `x_simulator.${field}`;
    if (field === 'models') checkModels(entry, path);
    else if (field === 'attempts' && Array.isArray(entry)) {
      entry.forEach((fault, index) => checkFault(fault, `${path}[${index}]`));
    } else if (field !== 'id' || typeof entry !== 'string') refuse(path, 'unknown field or wrong type');
  });
  const instructions = value as Instructions; // every field was checked just above
  if (instructions.attempts !== undefined && instructions.id === undefined) {
    refuse('x_simulator.attempts', 'attempts are counted by x_simulator.id, which is missing');
  }
  return instructions;
}

/** Instructions as a part of any text, for requests that lose unknown fields on their way because they are translated. */
export function instructionText(instructions: Instructions): string {
  return `x_simulator:${Buffer.from(JSON.stringify(instructions)).toString('base64url')}`;
}

/** The value that `instructionText` has packed into a request's body; undefined if there is none, or no JSON. */
export function packedInstructions(body: string): unknown {
  const [, packed] = /x_simulator:([\w-]+)/.exec(body) ?? [];
  if (packed === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(packed, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/**
 * The fault of one request: standing fault, own fields, own model, own attempt. Later ones override earlier ones by
 * field.
 */
export function resolveFault(
  standing: StandingFault | null,
  own: Instructions | null,
  target: { model: string; attempt: number },
): Fault {
  if (standing === null && own === null) return noFault;
  const { models: standingModels, ...standingFields } = standing ?? {};
  const { models, attempts, id: _id, ...ownFields } = own ?? {};
  const fault: Fault = {
    ...standingFields,
    ...standingModels?.[target.model],
    ...ownFields,
    ...models?.[target.model],
    ...attempts?.[target.attempt - 1],
  };
  return Object.keys(fault).length === 0 ? noFault : fault;
}

/** The error of a fault: the default one, with the fields that the fault sets. */
export function errorOf(defaultError: WireError, fault: Fault): WireError {
  const error = { ...defaultError, ...fault.error };
  if (fault.huge_error_bytes === undefined) return error;
  const huge = 'x'.repeat(fault.huge_error_bytes);
  return { ...error, message: huge, code: huge, param: huge };
}
