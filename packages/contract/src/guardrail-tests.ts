import { z } from 'zod';
import { jsonRecord, storableText, usd, uuid } from './fields.ts';
import { guardrailOutcomes } from './guardrail-results.ts';
import { guardedTexts } from './guardrail-rules.ts';
import { createGuardrail } from './guardrails.ts';
import { ok, route, scope, type Route } from './route.ts';

/** Trying guardrails on a text: `/v1/guardrails/test`. */

export const testGuardrails = z.strictObject({
  text: storableText(1, 100_000).optional().describe('One text. Send it or `request`'),
  request: jsonRecord.optional().describe('The body of a request in the API `dialect`'),
  dialect: z.enum(['chat', 'responses', 'messages', 'gemini']).default('chat').describe('Of `request`'),
  on: z.enum(guardedTexts).default('user').describe('The kind of `text`'),
  guardrails: z
    .array(z.union([storableText(1, 80), createGuardrail]))
    .min(1)
    .max(8)
    .describe(
      'Names of enabled guardrails, and guardrails that are not saved. Whom they select does not matter',
    ),
});
export type TestGuardrails = z.output<typeof testGuardrails>;

export const testedGuardrails = z.strictObject({
  guardrails: z
    .array(
      z.strictObject({
        name: z.string(),
        outcome: z.enum(guardrailOutcomes),
        reason: z
          .enum(['late', 'failed', 'malformed', 'too_large'])
          .nullable()
          .describe('Why it has no verdict, for the outcome `error`'),
        matches: z
          .array(
            z.strictObject({
              type: z.string(),
              on: z.enum(guardedTexts),
              param: z.string().nullable().describe('The place of its text in `request`'),
              start: z.int().min(0).describe('In UTF-16 units of the text, like `end`'),
              end: z.int().min(0),
            }),
          )
          .describe('The first 1,000. One of a check that names no place is the whole text'),
        text: z
          .string()
          .nullable()
          .describe('`text` as it would go on; `null` where it would not, and for a `request`'),
        duration_ms: z.int().min(0),
        cost_usd: usd,
      }),
    )
    .describe('Each by itself, in their order'),
  run_id: uuid.nullable().describe('The run that paid for calls of models; `null` without any'),
});

export type TestedGuardrails = z.output<typeof testedGuardrails>;

const contacts = { name: 'contacts', check: { type: 'pii', types: ['email'] }, action: 'mask' };

export const routes: readonly Route[] = [
  route('guardrails.test', 'POST /v1/guardrails/test', {
    service: 'chat',
    access: scope('guardrails.write'),
    administrative: false,
    body: testGuardrails,
    response: ok(testedGuardrails),
    summary: 'Test guardrails',
    description:
      'Checks a text, or all texts of a request, by guardrails that are saved or not, each by itself. Nothing is stored or sent to a provider, except by checks that ask outside: a call of a model is a run.',
    examples: {
      draft: {
        summary: 'A guardrail that is not saved',
        body: { text: 'Write to ann@gmail.com.', guardrails: [contacts] },
        response: {
          guardrails: [
            {
              ...{ name: 'contacts', outcome: 'masked', reason: null },
              matches: [{ type: 'email', on: 'user', param: null, start: 9, end: 22 }],
              ...{ text: 'Write to [EMAIL].', duration_ms: 1, cost_usd: '0.000000000000' },
            },
          ],
          run_id: null,
        },
      },
    },
  }),
];
