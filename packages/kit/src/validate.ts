import { AppError, isErrorCode, type ErrorCode } from './errors.ts';
import type { z } from 'zod';

type Where = 'body' | 'query';

/** Validates a body or query. Throws 400 with the first invalid field and the number of others. */
export function validate<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  where: Where,
): z.output<Shape> {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue, ...others] = parsed.error.issues;
  if (issue === undefined) throw new AppError('invalid_value', `The ${where} is not valid.`);
  const { code, param, message } = describe(issue, where, value);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  throw new AppError(code, `${message}${more}`, { param });
}

interface Problem {
  code: ErrorCode;
  param: string | undefined;
  message: string;
}

function describe(issue: z.core.$ZodIssue, where: Where, value: unknown): Problem {
  // A query parameter is one value, even if it is a list.
  const path = pathText(where === 'query' ? issue.path.slice(0, 1) : issue.path);
  if (issue.code === 'unrecognized_keys') {
    const key = pathText([...issue.path, issue.keys[0] ?? '']);
    return {
      code: 'unknown_parameter',
      param: key,
      message: where === 'query' ? `Unknown query parameter: ${key}.` : `Unknown field: ${key}.`,
    };
  }
  if (path === '') {
    return { code: 'invalid_type', param: undefined, message: `The request ${where} must be a JSON object.` };
  }
  if (isMissing(value, issue.path)) {
    return { code: 'missing_required_parameter', param: path, message: `Missing required field: ${path}.` };
  }
  const code = codeOf(issue);
  return { code, param: path, message: `Invalid value for ${path}: ${lowerFirst(issue.message)}.` };
}

/** A check of a shape may name its code in `params`. */
function codeOf(issue: z.core.$ZodIssue): ErrorCode {
  if (issue.code === 'invalid_type') return 'invalid_type';
  const named: unknown = issue.code === 'custom' ? issue.params?.['code'] : undefined;
  return typeof named === 'string' && isErrorCode(named) ? named : 'invalid_value';
}

function isMissing(value: unknown, path: readonly PropertyKey[]): boolean {
  let current: unknown = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return false;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current === undefined;
}

/** `messages[0].role` */
function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else text += text === '' ? String(key) : `.${String(key)}`;
  }
  // The client chooses field names: limits the length of error messages.
  return text.slice(0, 200);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '');
}

/**
 * Query parameters as an object. Throws when one is repeated, because components could disagree on which value counts.
 */
export function queryObject(query: string): Record<string, string> {
  // No prototype, to keep a parameter named `__proto__`.
  const fields = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(fields, name)) {
      throw new AppError(
        'invalid_value',
        `The query parameter ${name.slice(0, 200)} is given more than once.`,
        {
          param: name.slice(0, 200),
        },
      );
    }
    fields[name] = value;
  }
  return fields;
}
