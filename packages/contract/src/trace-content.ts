import { z } from 'zod';
import { dialectNames } from './dialects.ts';
import { count, utcTime, uuid } from './fields.ts';
import { ok, route, scope, type Route } from './route.ts';
import { traceExample } from './traces.ts';

/** The content of a run: `/v1/traces/{id}/content`. */

const json = z.unknown();

/** A passage of the agent's memory in the prompt. */
const recalledPassage = z.strictObject({
  path: z.string().describe('Path of the document'),
  title: z.string().nullable(),
  start_line: count,
  end_line: count,
  score: z.number(),
  text: z.string(),
});

const calledTool = z.strictObject({
  server: z.string().nullable().describe('The MCP server; null for tools of the gateway itself'),
  name: z.string(),
  arguments: json.describe('As the model wrote them'),
  result: z.string().nullable().describe('As the model got it; null where it is left out'),
  is_error: z.boolean(),
  started_at: utcTime,
  duration_ms: count,
});

/** Everything a run sent and received, as far as its tenant stores it. */
export const traceContent = z.strictObject({
  id: uuid,
  api: z.enum(dialectNames).describe('The API in whose shape messages, parameters and response are'),
  parameters: z.record(z.string(), json).describe('Members of the request without its messages'),
  instructions: json.describe("The client's system prompt where it is a member of its own, else null"),
  messages: z
    .array(json)
    .describe('As the client sent them, in the shape of its API; a text or one object is a list of one'),
  agent: z
    .strictObject({
      system_prompt: z.string().nullable(),
      parameters: z.record(z.string(), json),
      passages: z.array(recalledPassage).describe('Passages of its memory in the prompt, best first'),
    })
    .nullable()
    .describe('Additions of the agent; null without an agent'),
  response: json.describe(
    'The response as the client got it, a stream joined into one; null if there was none',
  ),
  tool_calls: z.array(calledTool).describe('Calls of tools by the gateway, in the order of their ends'),
  truncated: z.boolean().describe('Whether something is left out or cut since it is too large'),
});
export type TraceContent = z.output<typeof traceContent>;

const contentExample: TraceContent = {
  id: traceExample.id,
  api: 'chat',
  parameters: { model: 'agent:support', temperature: 0.2 },
  instructions: null,
  messages: [{ role: 'user', content: 'Where is my order?' }],
  agent: {
    system_prompt: 'You answer questions about orders.',
    parameters: { max_completion_tokens: 500 },
    passages: [
      {
        path: 'shipping.md',
        title: 'Shipping',
        start_line: 3,
        end_line: 9,
        score: 0.71,
        text: 'Orders leave the warehouse within a day.',
      },
    ],
  },
  response: {
    id: traceExample.id,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'It is on its way.' }, finish_reason: 'stop' },
    ],
  },
  tool_calls: [
    {
      server: 'orders',
      name: 'find_order',
      arguments: { id: 4711 },
      result: '{"status":"shipped"}',
      is_error: false,
      started_at: '2026-01-10T09:15:00.540Z',
      duration_ms: 120,
    },
  ],
  truncated: false,
};

export const routes: readonly Route[] = [
  route('traces.content', 'GET /v1/traces/{id}/content', {
    service: 'chat',
    access: scope('analytics.read'),
    actingUser: true,
    response: ok(traceContent),
    summary: 'Get what a run sent and received',
    description:
      'Returns messages, parameters, recalled passages, calls of tools and the response of a run. It is stored, encrypted, for runs that begin while the setting `content` of the tenant is `full`, for its `retention_days`. Only admin keys and the user of the run may read it. Keys, cookies and authorization headers are left out, and files in requests and responses are replaced by their type and size. Without stored content, returns 404 `content_not_stored`.',
    examples: {
      run: {
        summary: 'A run of an agent that searched its memory and called a tool',
        params: { id: traceExample.id },
        response: contentExample,
      },
    },
  }),
];
