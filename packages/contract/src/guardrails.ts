import { z } from 'zod';
import { listOf, page, setOf, slug, storableText, utcTime, uuid } from './fields.ts';
import {
  created,
  noContent,
  ok,
  owner,
  pageExample,
  pick,
  routesWith,
  scope,
  type Access,
  type Route,
} from './route.ts';
import { changedCheck, checkView, newCheck } from './guardrail-checks.ts';
import { guardedTexts, guardrailActions } from './guardrail-rules.ts';
import { everyRun, namePattern, ownerSelectFields, runSelect, selectFields } from './run-select.ts';

/** Checks of the texts of selected runs: `/v1/guardrails*`, and the same of the owner. */

/** The most guardrails of one tenant, and of the owner, and the most of each asking outside. */
export const maxGuardrails = { ofTenant: 32, ofOwner: 8, askingOutside: 4 } as const;

const on = setOf(z.enum(guardedTexts))
  .min(1)
  .max(guardedTexts.length)
  .describe(
    'The texts that are checked: `system` (also definitions of tools), `user` (all else that a client sends), `tool_result`, `answer` (with reasoning), `tool_call` (arguments). Default: all; checks that ask outside read no answers yet: for them the first three, for `moderation` and `model` without `system`',
  );

const definition = {
  on,
  action: z
    .enum(guardrailActions)
    .describe(
      '`block`: nothing of the text arrives, and an answer ends. `mask`: a placeholder such as `[EMAIL]` stands for each match. `substitute`, `on` the first three: the model gets a placeholder such as `EMAIL4821390756`, and answers get the value back. `flag`: only recorded',
    ),
  except: setOf(namePattern)
    .max(200)
    .describe('Texts that are no match: whole, in any case; `*` stands for any text'),
  message: storableText(1, 500).nullable().describe('For the client of a blocked run; `null`: a default'),
  unreadable: z
    .enum(['allow', 'block'])
    .describe('What happens to a text with parts that no check can read, such as pictures and sound'),
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

/** A guardrail without its name and its selection, as chat gets it. */
export const guardrailDefinition = z.strictObject({ ...definition, check: checkView });
export type GuardrailDefinition = z.output<typeof guardrailDefinition>;

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
  check: changedCheck.describe(
    'Members of a check of the same type are changed; one of another type is a new check. Credentials stay with their host',
  ),
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

const example = {
  id: '0198c2f8-2c4e-7d6f-8a81-9bacbdcedfe0',
  name: 'contacts',
  select: everyRun,
  on: ['system', 'user', 'tool_result', 'answer', 'tool_call'],
  check: { type: 'pii', types: ['email', 'phone'], regions: ['DE'] },
  action: 'mask',
  except: ['*@example.org'],
  message: null,
  unreadable: 'allow',
  on_error: 'closed',
  timeout_ms: 2_000,
  hold: null,
  enabled: true,
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};
const ownerExample = {
  ...example,
  ...{ name: 'platform-keys', check: { type: 'secrets', types: ['api_key', 'private_key'] } },
  ...{ action: 'block', on: ['system', 'user', 'tool_result', 'answer', 'tool_call'], except: [] },
  message: 'Take the credential out of your request.',
  ...{ select: pick(everyRun, 'agents', 'api_keys', 'models'), tenants: null },
};

interface GuardrailAudience {
  prefix: string;
  path: `/${string}`;
  access: Access;
  shapes: { one: z.ZodType; list: z.ZodType; create: z.ZodType; patch: z.ZodType };
  example: Readonly<Record<string, unknown>> & { name: string };
}

/** The same routes for a tenant and for the owner. */
function routesOf({ prefix, path, access, shapes, example: one }: GuardrailAudience): Route[] {
  const route = routesWith({ service: 'tenant', access });
  const params = { guardrail: one.name };
  return [
    route(`${prefix}.list`, `GET ${path}`, {
      query: listGuardrails,
      response: ok(shapes.list),
      summary: 'List guardrails',
      examples: pageExample('The newest guardrail', one),
    }),
    route(`${prefix}.create`, `POST ${path}`, {
      idempotencyKey: true,
      body: shapes.create,
      response: created(shapes.one),
      nullInDryRun: ['id'],
      summary: 'Create a guardrail',
      description:
        'Holds for runs that begin 5 seconds later. A run keeps each guardrail that selects it by any model that it may call, fallbacks included.',
      examples: {
        guardrail: {
          summary: 'A guardrail',
          body: pick(
            one,
            ...['name', 'check', 'action', 'except', 'message'].filter((member) => one[member] !== null),
          ),
          response: one,
        },
      },
    }),
    route(`${prefix}.get`, `GET ${path}/{guardrail}`, {
      response: ok(shapes.one),
      summary: 'Get a guardrail by its id or name',
      examples: { guardrail: { summary: 'A guardrail', params, response: one } },
    }),
    route(`${prefix}.patch`, `PATCH ${path}/{guardrail}`, {
      body: shapes.patch,
      response: ok(shapes.one),
      summary: 'Change a guardrail',
      description:
        'A JSON merge patch (RFC 7396), except that `check` names its type, and its records are replaced. `on`, `on_error` and `hold` that have their defaults follow another check or action.',
      examples: {
        disable: {
          summary: 'Disable it',
          params,
          body: { enabled: false },
          response: { ...one, enabled: false },
        },
      },
    }),
    route(`${prefix}.delete`, `DELETE ${path}/{guardrail}`, {
      response: noContent,
      summary: 'Delete a guardrail',
      examples: { guardrail: { summary: 'A guardrail', params } },
    }),
  ];
}

export const routes: readonly Route[] = [
  ...routesOf({
    ...{ prefix: 'guardrails', path: '/v1/guardrails', access: scope('guardrails.write'), example },
    shapes: { one: guardrail, list: guardrailList, create: createGuardrail, patch: patchGuardrail },
  }),
  ...routesOf({
    ...{ prefix: 'owner.guardrails', path: '/internal/v1/owner/guardrails', access: owner },
    shapes: {
      ...{ one: ownerGuardrail, list: ownerGuardrailList },
      ...{ create: createOwnerGuardrail, patch: patchOwnerGuardrail },
    },
    example: ownerExample,
  }),
];
