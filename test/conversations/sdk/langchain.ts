import { ChatAnthropic } from '@langchain/anthropic';
import {
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type AIMessageChunk,
  type BaseMessage,
} from '@langchain/core/messages';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { ChatOpenAI } from '@langchain/openai';
import type { DialectName } from '@gatehouse/contract/dialects';
import { isFields, listOf } from '@gatehouse/kit/fields';
import type { Client, Line } from '../client.ts';
import type { Place } from '../plan.ts';
import {
  documentSchema,
  forcesCall,
  jpeg,
  limitOf,
  lookSchema,
  pictureType,
  resultsOf,
  system,
  takesSystemInMiddle,
  type Reply,
  type Turn,
} from '../turns.ts';

// With a format it has OpenAI be strict with tools too, whatever their schema.
const parameters = { ...lookSchema, required: ['at', 'times'] };
const look = {
  type: 'function' as const,
  function: { name: 'look', description: 'Looks at a place.', parameters },
};
const format = {
  type: 'json_schema' as const,
  json_schema: { name: 'document', strict: true, schema: documentSchema },
};

interface Asked {
  line: Line;
  turn: Turn;
  place: Place;
}

/** LangChain's class for a dialect, as it is for one turn. */
const chats = {
  chat: (asked: Asked) => openAi(asked, false),
  responses: (asked: Asked) => openAi(asked, true),
  messages: ({ line: { url, key, fetch }, turn, place }: Asked) =>
    new ChatAnthropic({
      ...{ model: place.model, apiKey: key, anthropicApiUrl: url, clientOptions: { fetch } },
      ...{ maxRetries: 0, maxTokens: limitOf(turn) },
    }).bindTools([look], choiceOf(turn, place, 'messages')),
  gemini: ({ line: { url, key }, turn, place }: Asked) =>
    new ChatGoogleGenerativeAI({
      ...{ model: place.model, apiKey: key, baseUrl: url, maxRetries: 0, maxOutputTokens: limitOf(turn) },
    }).bindTools([look], choiceOf(turn, place, 'gemini')),
};

function choiceOf(turn: Turn, place: Place, dialect: DialectName): { tool_choice?: string } {
  return forcesCall(turn, place, dialect) ? { tool_choice: 'any' } : {};
}

function openAi({ line: { url, key, fetch }, turn, place }: Asked, useResponsesApi: boolean) {
  return new ChatOpenAI({
    ...{ model: place.model, apiKey: key, configuration: { baseURL: `${url}/v1`, fetch }, useResponsesApi },
    ...{ maxRetries: 0, maxTokens: limitOf(turn) },
  }).bindTools([look], {
    ...choiceOf(turn, place, useResponsesApi ? 'responses' : 'chat'),
    ...(turn.feature === 'structured' && { response_format: format }),
  });
}

/** LangChain, with messages of its own. */
export function langChainClient(line: Line, dialect: DialectName): Client {
  const messages: BaseMessage[] = [new SystemMessage(system)];
  let calls: Reply['calls'] = [];
  return {
    say: async (turn, place) => {
      messages.push(...messagesOf(turn, { calls, dialect }));
      const chat = chats[dialect]({ line, turn, place });
      const answer = line.stream ? await joined(await chat.stream(messages)) : await chat.invoke(messages);
      messages.push(answer);
      calls = (answer.tool_calls ?? []).map(({ id = '', name, args }) => ({ id, name, input: args }));
      return {
        texts: dialect === 'gemini' ? joinedTexts(textsOf(answer)) : textsOf(answer),
        calls,
        stop: JSON.stringify([answer.response_metadata, answer.additional_kwargs]),
        ids: answer.id === undefined ? [] : [answer.id],
      };
    },
  };
}

async function joined(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk);
  if (whole === undefined) throw new Error('the stream has no message');
  return whole;
}

function textsOf({ content }: AIMessageChunk): string[] {
  if (typeof content === 'string') return content === '' ? [] : [content];
  return listOf(content).flatMap((block) =>
    isFields(block) && typeof block['text'] === 'string' ? [block['text']] : [],
  );
}

/** Its class for Gemini stores each piece of a text as a block once an answer has a thought, and empty ones too. */
function joinedTexts(texts: readonly string[]): string[] {
  return [texts.join('')].filter((text) => text !== '');
}

function messagesOf(
  turn: Turn,
  { calls, dialect }: { calls: Reply['calls']; dialect: DialectName },
): BaseMessage[] {
  const results = turn.feature === 'results' ? resultsOf(calls) : [];
  const url = `data:${pictureType(dialect)};base64,${jpeg}`;
  // It takes pictures for models with names that it knows alone.
  const hasPicture = turn.feature === 'picture' && dialect !== 'gemini';
  const picture = hasPicture ? [{ type: 'image_url', image_url: { url } }] : [];
  return [
    ...results.map(({ id, name, text }) => new ToolMessage({ tool_call_id: id, name, content: text })),
    ...(turn.feature === 'system' && takesSystemInMiddle(dialect)
      ? [new SystemMessage('Be brief from here on.')]
      : []),
    ...(turn.text === null
      ? []
      : [new HumanMessage({ content: [{ type: 'text', text: turn.text }, ...picture] })]),
  ];
}
