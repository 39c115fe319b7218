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

const pii = {
  types: setOf(z.enum(piiTypes)).min(1).max(piiTypes.length),
  regions: setOf(z.string().regex(/^[A-Z]{2}$/, 'must be a country of ISO 3166-1, such as DE'))
    .max(32)
    .describe('Countries whose national telephone numbers are found; international ones are found anyway'),
};

const secrets = {
  types: setOf(z.enum(secretTypes))
    .min(1)
    .max(secretTypes.length)
    .describe('`assignment`, such as `password = …`, is found by its randomness, and only if named here'),
};

/** The name of a pattern, or a label of a model. */
const label = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9 _-]{0,63}$/, 'must be letters, digits, spaces, `_` and `-`, at most 64');

const patterns = {
  patterns: z
    .array(
      z.strictObject({
        name: label.describe('`mask` writes it in place of a match: `[<NAME>]`'),
        regex: storableText(1, 4_096).describe(
          'In the syntax of RE2. `^` and `$` are the bounds of one text',
        ),
        case_sensitive: z.boolean().default(true),
      }),
    )
    .max(maxPatterns.items),
  words: setOf(visibleText(1, 256, 'must not be blank'))
    .max(maxPatterns.items)
    .describe('Whole words in any case; anywhere in scripts without spaces'),
};

const moderation = {
  model: modelId.describe('A model of the catalogue with `POST /v1/moderations`'),
  categories: recordOf(storableText(1, 64), z.number().min(0).max(1), 64).describe(
    'The least score of each category that is a match. Empty: what the model flags',
  ),
};

const model = {
  model: modelId.describe('A model of the catalogue'),
  instructions: visibleText(1, 8_000, 'must not be blank').describe(
    'When a text has which label. The model sees the text as quoted data',
  ),
  labels: setOf(label.refine((text) => text.toLowerCase() !== 'none', '`none` is the answer for no label'))
    .min(1)
    .max(20)
    .describe('The answers that are a match; the model may also answer `none`'),
};

const url = storableText(1, 2_000).meta({ format: 'uri', pattern: urlPattern });
const auth = plainAuth.describe('Write-only: responses show whether secrets are set');

const presidio = {
  url: url.describe('Of the analyzer, without `/analyze`'),
  entities: setOf(storableText(1, 64)).max(100).describe('Empty: all that it knows'),
  language: z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/, 'must be a language such as en'),
  min_score: z.number().min(0).max(1),
};

const webhook = {
  url: url.describe("A server of LiteLLM's Generic Guardrail API, with or without the path of that"),
  params: jsonRecord.describe('Sent as `additional_provider_specific_params`'),
};

const typed = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape });

const defaults = {
  pii: {
    types: pii.types.default(['email', 'phone', 'credit_card', 'iban']),
    regions: pii.regions.default([]),
  },
  secrets: { types: secrets.types.default(['api_key', 'private_key', 'jwt', 'connection_string']) },
  patterns: { patterns: patterns.patterns.default([]), words: patterns.words.default([]) },
  moderation: { categories: moderation.categories.default({}) },
  presidio: {
    entities: presidio.entities.default([]),
    language: presidio.language.default('en'),
    min_score: presidio.min_score.default(0.5),
  },
  webhook: { params: webhook.params.default({}) },
};

/** The check of a new guardrail, or one of another type. */
export const newCheck = z.discriminatedUnion('type', [
  typed('pii', defaults.pii),
  typed('secrets', defaults.secrets),
  typed('patterns', defaults.patterns),
  typed('moderation', { ...moderation, ...defaults.moderation }),
  typed('model', model),
  typed('presidio', { ...presidio, auth: auth.default({ type: 'none' }), ...defaults.presidio }),
  typed('webhook', { ...webhook, auth: auth.default({ type: 'none' }), ...defaults.webhook }),
]);
export type NewCheck = z.output<typeof newCheck>;

const changed = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...z.strictObject(shape).partial().shape });

/** A change of a check: the other members of one with this type stay. */
export const changedCheck = z.discriminatedUnion('type', [
  changed('pii', pii),
  changed('secrets', secrets),
  changed('patterns', patterns),
  changed('moderation', moderation),
  changed('model', model),
  changed('presidio', { ...presidio, auth }),
  changed('webhook', { ...webhook, auth }),
]);
export type ChangedCheck = z.output<typeof changedCheck>;

/** A check as it is shown. */
export const checkView = z.discriminatedUnion('type', [
  typed('pii', pii),
  typed('secrets', secrets),
  typed('patterns', patterns),
  typed('moderation', moderation),
  typed('model', model),
  typed('presidio', { ...presidio, auth: plainAuthView }),
  typed('webhook', { ...webhook, auth: plainAuthView }),
]);
export type CheckView = z.output<typeof checkView>;

export type CheckType = CheckView['type'];

const builtIn = {
  ...{ pii: true, secrets: true, patterns: true },
  ...{ moderation: false, model: false, presidio: false, webhook: false },
} as const satisfies Record<CheckType, boolean>;
type BuiltInType = { [Type in CheckType]: (typeof builtIn)[Type] extends true ? Type : never }[CheckType];

/** Whether the gateway itself makes a check. Others send texts to a model or to a server. */
export function isBuiltIn<Check extends { type: CheckType }>(
  check: Check,
): check is Extract<Check, { type: BuiltInType }> {
  return builtIn[check.type];
}
