import { z } from 'zod';

/** Shapes of fields shared by several resources. */

export const uuid = z.uuid();

/** As a pattern for all tools, in documents; the format says the rest. */
const years = '^(19[7-9]\\d|[2-8]\\d{3}|9[0-8]\\d\\d|99[0-8]\\d|999[0-8])-';
const clockTime =
  '\\d\\d-\\d\\dT([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d+)?)?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$';
const inYears = new RegExp(years);
const timestampPattern = years + clockTime;
/** Addresses of other hosts. The form does not decide whether an address is allowed. */
export const urlPattern = '^[Hh][Tt][Tt][Pp][Ss]?://';
/** Patterns with more to say than the format beside them. Documents leave out others. */
export const patternsBesideFormats: ReadonlySet<string> = new Set([timestampPattern, urlPattern]);

/** RFC 3339 with an offset, in the years 1970 to 9998; normalized to UTC with milliseconds. */
export const timestamp = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => inYears.test(text), 'must be in the years 1970 to 9998')
  .meta({ pattern: timestampPattern })
  .transform((text) => new Date(text).toISOString());

/** A time in responses: UTC with milliseconds. */
export const utcTime = z.iso.datetime({ precision: 3 });

const notStorable = 'must not contain NUL or lone surrogates';
/** A character of storable text, for patterns. The check of the shape finds lone surrogates. */
export const storableChar = String.raw`[^\x00]`;
const withoutNul = new RegExp(`^${storableChar}*$`);

/** Text without NUL and lone surrogates, which PostgreSQL cannot store unchanged. */
export const storableText = (min: number, max: number) => wellFormed(min, max).regex(withoutNul, notStorable);

/** The same, with a form excluding NUL: documents show one pattern. */
export const storableForm = (min: number, max: number, form: RegExp, message: string) =>
  wellFormed(min, max).regex(form, message);

function wellFormed(min: number, max: number) {
  return z
    .string()
    .min(min)
    .max(max)
    .refine((text) => text.isWellFormed(), notStorable);
}

/** Text with something else than white space. A check of its own: one pattern for both would take quadratic time. */
export const visibleText = (min: number, max: number, message: string) =>
  storableText(min, max).regex(/\S/, message);

/** The end user behind a request: 1–255 printable ASCII characters. */
export const userId = z.string().regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters');

/** A decimal amount of USD as text, because floats are inexact. */
export const usd = z
  .string('must be a decimal amount as text, such as "12.50"')
  .regex(/^\d{1,12}(\.\d{1,12})?$/, 'must be a decimal amount such as "12.50"');

export const slug = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/,
    'must be lower-case letters, digits and inner hyphens, at most 64',
  );

export const modelId = storableText(1, 256);

/** A list in which order means nothing, marked for clients comparing values, as `x-kubernetes-list-type` does. */
export const setOf = <Item extends z.ZodType>(item: Item) => z.array(item).meta({ 'x-list-type': 'set' });

export const queryLimit = z.coerce
  .number()
  .int()
  .min(1)
  .max(200)
  .default(50)
  .describe('Maximum number of items. A page may have fewer: it ends before it exceeds 4 MiB');
export const queryCursor = z.string().min(1).max(2_000).describe('The `next_cursor` of the previous page');

export const page = { limit: queryLimit, cursor: queryCursor.optional() };

export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() });

/** Code walking JSON may be recursive, and a few thousand levels would overflow the stack. */
const maxJsonDepth = 100;

function isStorableJson(value: unknown, depth = maxJsonDepth): boolean {
  // JSON.parse turns 1e999 into Infinity, which JSON cannot represent.
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isStorableJson(member, depth - 1));
}

const jsonValue = z
  .unknown()
  .refine(
    (value) => isStorableJson(value),
    `must be JSON with finite numbers and at most ${maxJsonDepth} levels`,
  );
const maxMembers = 1_000;
/** A member of a record filled by a client. */
export const jsonName = storableText(1, 128);

/**
 * A record of at most `most` members. zod silently drops one named `__proto__`, so reject it. Members are counted before
 * each of them is checked, which takes microseconds.
 */
export function recordOf<Name extends z.ZodType<string, string>, Value extends z.ZodType>(
  name: Name,
  value: Value,
  most: number,
) {
  const members = z.record(name, value).meta({ maxProperties: most });
  return z.preprocess((input, context) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
    if (Object.keys(input).length > most) {
      const message = `must have at most ${most} members`;
      context.issues.push({ code: 'custom', input, path: [], message });
      return {};
    }
    if (Object.hasOwn(input, '__proto__')) {
      const path = ['__proto__'];
      context.issues.push({ code: 'custom', input, path, message: 'must not be used as a name' });
    }
    return input;
  }, members);
}

/** A JSON object filled by a client. */
export const jsonRecord = recordOf(jsonName, jsonValue, maxMembers);

/** Whether PostgreSQL's jsonb can hold it: neither NUL nor lone surrogates, in names and texts of any level. */
function isValidUnicode(value: unknown, depth = maxJsonDepth): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  // Another check reports values nested too deeply.
  if (depth === 0) return true;
  return Object.entries(value).every((entry) => entry.every((part) => isValidUnicode(part, depth - 1)));
}

/** A record for searches by its members. */
export const searchableRecord = jsonRecord.refine(
  (record) => isValidUnicode(record),
  'must have valid Unicode without NUL',
);

export const count = z.int().min(0);

/** Tokens of a provider call, a run, or a group of runs. */
export const tokenCounts = {
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
};
