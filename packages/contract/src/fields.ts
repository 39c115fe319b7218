import { z } from 'zod';

/** Field shapes that several resources share. */

export const uuid = z.uuid();

/** RFC 3339 with an offset, of the years 1970 to 9998; normalised to UTC with milliseconds. */
export const timestamp = z.iso
  .datetime({ offset: true, abort: true })
  .refine(
    (text) => /^(19[7-9]|[2-9]\d\d)\d-/.test(text) && !text.startsWith('9999'),
    'must be of a year from 1970 to 9998',
  )
  .transform((text) => new Date(text).toISOString());

/** What the service itself sends: already UTC with milliseconds. */
export const utcTime = z.iso.datetime({ precision: 3 });

/**
 * Text that PostgreSQL can store and a person can read: no NUL and no lone surrogate, which would otherwise come
 * back changed.
 */
export const storableText = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine(
      (text) => !text.includes('\u0000') && text.isWellFormed(),
      'must not contain NUL or lone surrogates',
    );

/** The end user a call is for: 1–255 printable ASCII characters (contract §1, acting user). */
export const userId = z.string().regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters');

/** A decimal amount of USD as text: never a float (contract §1). */
export const usd = z.string().regex(/^\d{1,12}(\.\d{1,12})?$/, 'must be a decimal amount such as "12.50"');

export const slug = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/,
    'must be lower-case letters, digits and inner hyphens, at most 64',
  );

export const modelId = storableText(1, 256);

export const queryLimit = z.coerce
  .number()
  .int()
  .min(1)
  .max(200)
  .default(50)
  .describe('How many at most. A page ends earlier where it would exceed 4 MiB');
export const queryCursor = z
  .string()
  .min(1)
  .max(2_000)
  .describe('Where to go on: the `next_cursor` of the answer before');

export const page = { limit: queryLimit, cursor: queryCursor.optional() };

export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() });

/** Whatever walks JSON may recurse: some thousand levels would end it with a full stack. */
const maxJsonDepth = 100;

function isKeepableJson(value: unknown, depth = maxJsonDepth): boolean {
  // JSON.parse makes Infinity of 1e999, which JSON can not say again.
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isKeepableJson(member, depth - 1));
}

const jsonValue = z
  .unknown()
  .refine(
    (value) => isKeepableJson(value),
    `must be JSON of finite numbers and at most ${maxJsonDepth} levels`,
  );
const maxMembers = 1_000;
const jsonMembers = z
  .record(storableText(1, 128), jsonValue)
  .refine((record) => Object.keys(record).length <= maxMembers, `must have at most ${maxMembers} members`)
  .meta({ maxProperties: maxMembers });

/** zod leaves a member called `__proto__` out of a record without a word; what is not kept must be refused. */
export const jsonRecord = z.preprocess((value, context) => {
  if (Object.hasOwn(Object(value) as object, '__proto__')) {
    const path = ['__proto__'];
    context.issues.push({ code: 'custom', input: value, path, message: 'can not be a name' });
  }
  return value;
}, jsonMembers);

export const count = z.int().min(0);

/** Of a provider call, a run, or a group of runs. */
export const tokenCounts = {
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
};
