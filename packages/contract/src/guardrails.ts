import { z } from 'zod';
import { listOf, page, setOf, slug, storableText, utcTime, uuid } from './fields.ts';
import { changedCheck, checkView, newCheck } from './guardrail-checks.ts';
import { guardedTexts, guardrailActions } from './guardrail-rules.ts';
import { namePattern, ownerSelectFields, runSelect, selectFields } from './run-select.ts';

/** Checks of the texts of selected runs: `/v1/guardrails*`, and the same of the owner. */

/** The most guardrails of one tenant, and of the owner, and the most of each asking outside. */
export const maxGuardrails = { ofTenant: 32, ofOwner: 8, askingOutside: 4 } as const;

const on = setOf(z.enum(guardedTexts))
  .min(1)
  .describe(
    'The texts that are checked: `system` (also definitions of tools), `user` (all else that a client sends), `tool_result`, `answer`, `tool_call` (arguments). Default: all that the action can change, for `moderation` and `model` without `system`',
  );

const definition = {
  on,
  action: z
    .enum(guardrailActions)
    .describe(
      '`block`: nothing of the text arrives. `mask`: a placeholder such as `[EMAIL]` stands for each match. `substitute`: the model sees a placeholder, and the client its value again. `flag`: only recorded',
    ),
  except: setOf(namePattern)
    .max(200)
    .describe('Texts that are no match: whole, in any case; `*` stands for any text'),
  message: storableText(1, 500).nullable().describe('For the client of a blocked run; `null`: a default'),
  unreadable: z
    .enum(['allow', 'block'])
    .describe('What happens to a request with parts that no check can read, such as pictures'),
  on_error: z
    .enum(['open', 'closed'])
    .describe('Whether the text goes on if the check fails. Default: `closed`, for `flag` `open`'),
  timeout_ms: z.int().min(50).max(10_000).describe('Of a check that asks outside'),
  hold: z
    .union([z.literal('answer'), z.int().min(200).max(8_000)])
    .nullable()
    .describe(
      'How much of a streamed answer waits for the check: all of it, or pieces of so many characters for checks that ask outside. `null`: what a match itself needs. Default: `answer` for checks that ask outside, else `null`',
    ),
};

const name = slug;
const enabled = z.boolean();
const common = {
  id: uuid,
  name: z.string().describe('Begins with `owner:` for one of the operator, who alone changes it'),
  ...definition,
  check: checkView.describe(
    'Of one of the operator only its type, with the host or the model that gets the texts',
  ),
  enabled,
  created_at: utcTime,
  updated_at: utcTime,
};

export const guardrail = z.strictObject({ ...common, select: runSelect('guardrail') });
export type Guardrail = z.output<typeof guardrail>;
export const guardrailList = listOf(guardrail);

export const ownerGuardrail = z.strictObject({
  ...common,
  select: z.strictObject(ownerSelectFields),
  tenants: z.array(uuid).nullable().describe('The tenants that it holds for; `null` for all'),
});
export type OwnerGuardrail = z.output<typeof ownerGuardrail>;
export const ownerGuardrailList = listOf(ownerGuardrail);

const creation = {
  name,
  check: newCheck,
  action: definition.action,
  on: on.optional(),
  except: definition.except.default([]),
  message: definition.message.default(null),
  unreadable: definition.unreadable.default('allow'),
  on_error: definition.on_error.optional(),
  timeout_ms: definition.timeout_ms.default(2_000),
  hold: definition.hold.optional(),
  enabled: enabled.default(true),
};

export const createGuardrail = z.strictObject({
  ...creation,
  select: z.strictObject(selectFields).partial().default({}),
});
export type CreateGuardrail = z.output<typeof createGuardrail>;

const tenants = setOf(uuid).min(1).max(1_000).nullable();

export const createOwnerGuardrail = z.strictObject({
  ...creation,
  select: z.strictObject(ownerSelectFields).partial().default({}),
  tenants: tenants.default(null),
});
export type CreateOwnerGuardrail = z.output<typeof createOwnerGuardrail>;

const patch = {
  ...definition,
  name,
  enabled,
  check: changedCheck.describe('In place of the present one, as a whole'),
};

export const patchGuardrail = z
  .strictObject({ ...patch, select: z.strictObject(selectFields).partial() })
  .partial();
export type PatchGuardrail = z.output<typeof patchGuardrail>;

export const patchOwnerGuardrail = z
  .strictObject({ ...patch, select: z.strictObject(ownerSelectFields).partial(), tenants })
  .partial();
export type PatchOwnerGuardrail = z.output<typeof patchOwnerGuardrail>;

export const listGuardrails = z.strictObject(page);
