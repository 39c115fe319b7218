import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import type { DialectName } from '@gatehouse/contract/dialects';
import {
  generateText,
  jsonSchema,
  Output,
  streamText,
  tool,
  type LanguageModel,
  type ModelMessage,
  type ToolSet,
} from 'ai';
import type { Client, Line } from '../client.ts';
import type { Place } from '../plan.ts';
import {
  documentSchema,
  forcesCall,
  jpeg,
  limitOf,
  lookSchema,
  resultsOf,
  pictureType,
  system,
  takesSystemInMiddle,
  thinkingConfigFor,
  wantsThoughts,
  type Reply,
  type Turn,
} from '../turns.ts';

/** The SDK's providers, and how each asks a model to think. */
const vendors = {
  chat: ({ url, key, fetch }: Line): Vendor => ({
    model: (name) => createOpenAI({ apiKey: key, baseURL: `${url}/v1`, fetch }).chat(name),
    thinking: () => ({ openai: { reasoningEffort: 'high' } }),
  }),
  responses: ({ url, key, fetch }: Line): Vendor => ({
    model: (name) => createOpenAI({ apiKey: key, baseURL: `${url}/v1`, fetch }).responses(name),
    thinking: () => ({ openai: { reasoningEffort: 'high', reasoningSummary: 'auto' } }),
  }),
  messages: ({ url, key, fetch }: Line): Vendor => ({
    model: (name) => createAnthropic({ apiKey: key, baseURL: `${url}/v1`, fetch }).messages(name),
    thinking: ({ api, thinks }) => ({
      anthropic:
        api === 'messages' && thinks === 'budget'
          ? { thinking: { type: 'enabled', budgetTokens: 1_024 } }
          : { thinking: { type: 'adaptive' }, effort: 'high' },
    }),
  }),
  gemini: ({ url, key, fetch }: Line): Vendor => ({
    model: (name) => createGoogleGenerativeAI({ apiKey: key, baseURL: `${url}/v1beta`, fetch }).chat(name),
    thinking: ({ model }) => ({ google: { thinkingConfig: thinkingConfigFor(model) } }),
  }),
};

type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>;

interface Vendor {
  model: (name: string) => LanguageModel;
  thinking: (place: Place) => ProviderOptions;
}

/** Vercel's AI SDK, with messages of its own, by its provider for a dialect. */
export function aiSdkClient(line: Line, dialect: DialectName): Client {
  const vendor = vendors[dialect](line);
  const messages: ModelMessage[] = [];
  let calls: Reply['calls'] = [];
  return {
    say: async (turn, place) => {
      messages.push(...messagesOf(turn, { calls, dialect }));
      const isForced = forcesCall(turn, place, dialect);
      // It has older models of Gemini call a tool in place of a format.
      const hasTools = dialect !== 'gemini' || turn.feature !== 'structured';
      const asked = { model: vendor.model(place.model), messages, isForced, hasTools };
      const options = optionsFor(turn, asked);
      const thinks = wantsThoughts(turn) && mayThink(place, { dialect, isForced });
      const providerOptions = thinks ? vendor.thinking(place) : {};
      const answer = await answerTo({ ...options, providerOptions }, line.stream);
      messages.push(...answer.responseMessages);
      calls = answer.toolCalls.map(({ toolCallId, toolName, input }) => ({
        ...{ id: toolCallId, name: toolName, input: input as unknown },
      }));
      const texts = answer.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
      return { texts, calls, stop: answer.finishReason, ids: [] };
    },
  };
}

/** Whether a model of the client's own API takes the wish to think; the gateway fits it to all others. */
function mayThink(
  { api, thinks }: Place,
  { dialect, isForced }: { dialect: DialectName; isForced: boolean },
): boolean {
  if (api === 'messages' && isForced) return dialect !== 'messages';
  return api !== dialect || thinks !== false;
}

function messagesOf(
  turn: Turn,
  { calls, dialect }: { calls: Reply['calls']; dialect: DialectName },
): ModelMessage[] {
  const results = turn.feature === 'results' ? resultsOf(calls) : [];
  const picture = { type: 'file' as const, data: jpeg, mediaType: pictureType(dialect) };
  const text = turn.text === null ? [] : [{ type: 'text' as const, text: turn.text }];
  const content = [...text, ...(turn.feature === 'picture' ? [picture] : [])];
  return [
    ...(results.length === 0
      ? []
      : [
          {
            role: 'tool' as const,
            content: results.map(({ id, name, text: value }) => ({
              ...{ type: 'tool-result' as const, toolCallId: id, toolName: name },
              output: { type: 'text' as const, value },
            })),
          },
        ]),
    ...(turn.feature === 'system' && takesSystemInMiddle(dialect)
      ? [{ role: 'system' as const, content: 'Be brief from here on.' }]
      : []),
    ...(content.length === 0 ? [] : [{ role: 'user' as const, content }]),
  ];
}

// The SDK's types are not made for `exactOptionalPropertyTypes`.
const tools = {
  look: tool({ description: 'Looks at a place.', inputSchema: jsonSchema(lookSchema as object) }),
} as ToolSet;

globalThis.AI_SDK_LOG_WARNINGS = false;

interface Asked {
  model: LanguageModel;
  messages: ModelMessage[];
  isForced: boolean;
  hasTools: boolean;
}

function optionsFor(turn: Turn, { model, messages, isForced, hasTools }: Asked) {
  return {
    ...{ model, messages, instructions: system, allowSystemInMessages: true },
    ...{ maxOutputTokens: limitOf(turn), maxRetries: 0 },
    ...(hasTools && { tools }),
    ...(isForced && { toolChoice: 'required' as const }),
    ...(turn.feature === 'structured' && {
      output: Output.object({ schema: jsonSchema(documentSchema as object), name: 'document' }),
    }),
  };
}

async function answerTo(
  options: ReturnType<typeof optionsFor> & { providerOptions: ProviderOptions },
  stream: boolean,
) {
  if (!stream) return generateText(options);
  const failures: unknown[] = [];
  const result = streamText({ ...options, onError: ({ error }) => void failures.push(error) });
  await result.consumeStream();
  if (failures.length > 0) throw failures[0];
  return {
    content: await result.content,
    toolCalls: await result.toolCalls,
    responseMessages: await result.responseMessages,
    finishReason: await result.finishReason,
  };
}
