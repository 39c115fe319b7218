import { z } from 'zod';
import { jsonRecord, modelId, recordOf, setOf, storableText, urlPattern, visibleText } from './fields.ts';
import { plainAuth, plainAuthView } from './plain-auth.ts';

/** The checks of guardrails: what each finds in a text. */

export const piiTypes = [
  'email',
  'phone',
  'credit_card',
  'iban',
  'ip_address',
  'us_ssn',
  'vn_citizen_id',
] as const;
export type PiiType = (typeof piiTypes)[number];

export const secretTypes = ['api_key', 'private_key', 'jwt', 'connection_string', 'assignment'] as const;
export type SecretType = (typeof secretTypes)[number];

/** Patterns and words of one check together. */
export const maxPatterns = { items: 200, bytes: 32_768 } as const;

const pii = z.strictObject({
  type: z.literal('pii'),
  types: setOf(z.enum(piiTypes)).min(1).default(['email', 'phone', 'credit_card', 'iban']),
  regions: setOf(z.string().regex(/^[A-Z]{2}$/, 'must be a country of ISO 3166-1, such as DE'))
    .max(32)
    .default([])
    .describe('Countries whose national telephone numbers are found; international ones are found anyway'),
});

const secrets = z.strictObject({
  type: z.literal('secrets'),
  types: setOf(z.enum(secretTypes))
    .min(1)
    .default(['api_key', 'private_key', 'jwt', 'connection_string'])
    .describe('`assignment`, such as `password = …`, is found by its randomness, and only if named here'),
});

const pattern = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9 _-]{0,63}$/, 'must be letters, digits, spaces, `_` and `-`, at most 64')
    .describe('`mask` writes it in place of a match: `[<NAME>]`'),
  regex: storableText(1, 4_096).describe('In the syntax of RE2. `^` and `$` are the bounds of one text'),
  case_sensitive: z.boolean().default(true),
});

const patterns = z.strictObject({
  type: z.literal('patterns'),
  patterns: z.array(pattern).max(maxPatterns.items).default([]),
  words: setOf(visibleText(1, 256, 'must not be blank'))
    .max(maxPatterns.items)
    .default([])
    .describe('Whole words in any case; anywhere in scripts without spaces'),
});

const moderation = z.strictObject({
  type: z.literal('moderation'),
  model: modelId.describe('A model of the catalogue with `POST /v1/moderations`'),
  categories: recordOf(storableText(1, 64), z.number().min(0).max(1), 64)
    .default({})
    .describe('The least score of each category that is a match. Empty: what the model flags'),
});

const model = z.strictObject({
  type: z.literal('model'),
  model: modelId.describe('A model of the catalogue'),
  instructions: visibleText(1, 8_000, 'must not be blank').describe(
    'When a text has which label. The model sees the text as quoted data',
  ),
  labels: setOf(
    z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9 _-]{0,63}$/, 'must be letters, digits, spaces, `_` and `-`, at most 64')
      .refine((label) => label.toLowerCase() !== 'none', '`none` is the answer for no label'),
  )
    .min(1)
    .max(20)
    .describe('The answers that are a match; the model may also answer `none`'),
});

const url = storableText(1, 2_000).meta({ format: 'uri', pattern: urlPattern });

/** `auth` as it is sent, or as it is shown. */
const presidioWith = <Auth extends z.ZodType>(auth: Auth) =>
  z.strictObject({
    type: z.literal('presidio'),
    url: url.describe('Of the analyzer, without `/analyze`'),
    auth,
    entities: setOf(storableText(1, 64)).max(100).default([]).describe('Empty: all that it knows'),
    language: z
      .string()
      .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/, 'must be a language such as en')
      .default('en'),
    min_score: z.number().min(0).max(1).default(0.5),
  });

const webhookWith = <Auth extends z.ZodType>(auth: Auth) =>
  z.strictObject({
    type: z.literal('webhook'),
    url: url.describe("A server of LiteLLM's Generic Guardrail API, with or without the path of that"),
    auth,
    params: jsonRecord.default({}).describe('Sent as `additional_provider_specific_params`'),
  });

const builtIn = [pii, secrets, patterns] as const;
const byModel = [moderation, model] as const;

const writeOnly = 'Write-only: responses show whether secrets are set';
const newAuth = plainAuth.default({ type: 'none' }).describe(writeOnly);
const changedAuth = plainAuth
  .optional()
  .describe(`${writeOnly}. Absent: that of the present check, if it has the same type and host`);

/** The check of a new guardrail. */
export const newCheck = z.discriminatedUnion('type', [
  ...builtIn,
  ...byModel,
  presidioWith(newAuth),
  webhookWith(newAuth),
]);
export type NewCheck = z.output<typeof newCheck>;

/** A check in place of the present one. */
export const changedCheck = z.discriminatedUnion('type', [
  ...builtIn,
  ...byModel,
  presidioWith(changedAuth),
  webhookWith(changedAuth),
]);
export type ChangedCheck = z.output<typeof changedCheck>;

/** A check as it is shown. */
export const checkView = z.discriminatedUnion('type', [
  ...builtIn,
  ...byModel,
  presidioWith(plainAuthView),
  webhookWith(plainAuthView),
]);
export type CheckView = z.output<typeof checkView>;

export type CheckType = CheckView['type'];

const asksOutside: Readonly<Record<CheckType, boolean>> = {
  ...{ pii: false, secrets: false, patterns: false },
  ...{ moderation: true, model: true, presidio: true, webhook: true },
};

/** Whether a check sends texts to a model or to a server. */
export function isAskingOutside(type: CheckType): boolean {
  return asksOutside[type];
}
