import Anthropic from '@anthropic-ai/sdk';
import type { DialectName } from '@gatehouse/contract/dialects';
import { GoogleGenAI, type Content, type GenerateContentResponse } from '@google/genai';
import OpenAI from 'openai';

/** The official SDK of each dialect, behind one interface. */

export interface Question {
  model: string;
  prompt: string;
  /** Whether the model may call the tool `look`. */
  tools?: boolean;
  signal?: AbortSignal;
}

export interface Said {
  text: string;
  calls: { name: string; input: unknown }[];
  input: number;
  output: number;
}

export interface SdkClient {
  ask: (question: Question) => Promise<Said>;
  /** Rejects if the SDK finds that the stream is not complete. */
  stream: (question: Question) => Promise<Said>;
  /** Streams an answer with calls, sends their results, and streams the answer to these. */
  useTools: (question: Question, result: string) => Promise<[Said, Said]>;
}

type Turn<History, Answer> = (question: Question, history: History) => Promise<Answer>;

/** A client whose turns are requests with the history so far. */
function clientOf<Message, Answer>(
  turn: { whole: Turn<Message[], Answer>; streamed: Turn<Message[], Answer> },
  {
    first,
    next,
    said,
  }: {
    first: (prompt: string) => Message;
    /** An answer with calls, and the results of these, for the next turn. */
    next: (answer: Answer, result: string) => Message[];
    said: (answer: Answer) => Said;
  },
): SdkClient {
  return {
    ask: async (question) => said(await turn.whole(question, [first(question.prompt)])),
    stream: async (question) => said(await turn.streamed(question, [first(question.prompt)])),
    useTools: async (question, result) => {
      const asked = { ...question, tools: true };
      const history = [first(question.prompt)];
      const answer = await turn.streamed(asked, history);
      const last = await turn.streamed(asked, [...history, ...next(answer, result)]);
      return [said(answer), said(last)];
    },
  };
}

const schema = { type: 'object' as const, properties: { at: { type: 'string' } }, required: ['at'] };
const tool = { name: 'look', description: 'Looks at something.' };

function chat(openai: OpenAI): SdkClient {
  const bodyOf = ({ model, tools }: Question, messages: OpenAI.ChatCompletionMessageParam[]) => ({
    ...{ model, messages },
    ...(tools === true && {
      tools: [{ type: 'function' as const, function: { ...tool, parameters: schema } }],
    }),
  });
  return clientOf<OpenAI.ChatCompletionMessageParam, OpenAI.ChatCompletion>(
    {
      whole: (question, history) =>
        openai.chat.completions.create(bodyOf(question, history), { signal: question.signal }),
      streamed: (question, history) =>
        openai.chat.completions
          .stream(
            { ...bodyOf(question, history), stream_options: { include_usage: true } },
            { signal: question.signal },
          )
          .finalChatCompletion(),
    },
    {
      first: (content) => ({ role: 'user', content }),
      next: ({ choices: [choice] }, content) => {
        const message = choice?.message;
        const calls = message?.tool_calls ?? [];
        return [
          { role: 'assistant', content: message?.content ?? null, tool_calls: calls },
          ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content })),
        ];
      },
      said: ({ choices: [choice], usage }) => ({
        text: choice?.message.content ?? '',
        calls: (choice?.message.tool_calls ?? []).flatMap((call) =>
          call.type === 'function'
            ? [{ name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }]
            : [],
        ),
        input: usage?.prompt_tokens ?? 0,
        output: usage?.completion_tokens ?? 0,
      }),
    },
  );
}

function responses(openai: OpenAI): SdkClient {
  const bodyOf = ({ model, tools }: Question, input: OpenAI.Responses.ResponseInputItem[]) => ({
    ...{ model, input, store: false },
    include: ['reasoning.encrypted_content' as const],
    ...(tools === true && {
      tools: [{ type: 'function' as const, ...tool, parameters: schema, strict: false }],
    }),
  });
  return clientOf<OpenAI.Responses.ResponseInputItem, OpenAI.Responses.Response>(
    {
      whole: (question, history) =>
        openai.responses.create(bodyOf(question, history), { signal: question.signal }),
      streamed: (question, history) =>
        openai.responses.stream(bodyOf(question, history), { signal: question.signal }).finalResponse(),
    },
    {
      first: (content) => ({ role: 'user', content }),
      next: ({ output }, result) => [
        ...(output as OpenAI.Responses.ResponseInputItem[]),
        ...output.flatMap((item) =>
          item.type === 'function_call'
            ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: result }]
            : [],
        ),
      ],
      said: ({ output, usage }) => ({
        text: output
          .flatMap((item) => (item.type === 'message' ? item.content : []))
          .map((part) => (part.type === 'output_text' ? part.text : ''))
          .join(''),
        calls: output.flatMap((item) =>
          item.type === 'function_call'
            ? [{ name: item.name, input: JSON.parse(item.arguments) as unknown }]
            : [],
        ),
        input: usage?.input_tokens ?? 0,
        output: usage?.output_tokens ?? 0,
      }),
    },
  );
}

function messages(anthropic: Anthropic): SdkClient {
  const bodyOf = ({ model, tools }: Question, history: Anthropic.MessageParam[]) => ({
    ...{ model, max_tokens: 1_000, messages: history },
    ...(tools === true && { tools: [{ ...tool, input_schema: schema }] }),
  });
  return clientOf<Anthropic.MessageParam, Anthropic.Message>(
    {
      whole: (question, history) =>
        anthropic.messages.create(bodyOf(question, history), { signal: question.signal }),
      streamed: (question, history) =>
        anthropic.messages.stream(bodyOf(question, history), { signal: question.signal }).finalMessage(),
    },
    {
      first: (content) => ({ role: 'user', content }),
      next: ({ content }, result) => [
        { role: 'assistant', content },
        {
          role: 'user',
          content: content.flatMap((block) =>
            block.type === 'tool_use'
              ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: result }]
              : [],
          ),
        },
      ],
      said: ({ content, usage }) => ({
        text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        calls: content.flatMap((block) =>
          block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [],
        ),
        input:
          usage.input_tokens +
          (usage.cache_read_input_tokens ?? 0) +
          (usage.cache_creation_input_tokens ?? 0),
        output: usage.output_tokens,
      }),
    },
  );
}

/** All that a stream of Google's API said, as one response. */
async function collected(stream: AsyncIterable<GenerateContentResponse>): Promise<GenerateContentResponse[]> {
  const pieces: GenerateContentResponse[] = [];
  for await (const piece of stream) pieces.push(piece);
  if (pieces.at(-1)?.candidates?.[0]?.finishReason === undefined) throw new Error('the stream has no end');
  return pieces;
}

function gemini(google: GoogleGenAI): SdkClient {
  const bodyOf = ({ model, tools, signal }: Question, contents: Content[]) => ({
    ...{ model, contents },
    config: {
      ...(signal !== undefined && { abortSignal: signal }),
      ...(tools === true && {
        tools: [{ functionDeclarations: [{ ...tool, parametersJsonSchema: schema }] }],
      }),
    },
  });
  const partsOf = (pieces: readonly GenerateContentResponse[]) =>
    pieces.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  return clientOf<Content, GenerateContentResponse[]>(
    {
      whole: async (question, history) => [await google.models.generateContent(bodyOf(question, history))],
      streamed: async (question, history) =>
        collected(await google.models.generateContentStream(bodyOf(question, history))),
    },
    {
      first: (text) => ({ role: 'user', parts: [{ text }] }),
      next: (answer, result) => [
        { role: 'model', parts: partsOf(answer) },
        {
          role: 'user',
          parts: partsOf(answer).flatMap(({ functionCall }) =>
            functionCall === undefined
              ? []
              : [
                  {
                    functionResponse: {
                      ...idOf(functionCall),
                      name: functionCall.name ?? '',
                      response: { result },
                    },
                  },
                ],
          ),
        },
      ],
      said: (answer) => {
        const usage = answer.at(-1)?.usageMetadata;
        return {
          text: partsOf(answer)
            .map(({ text = '', thought }) => (thought === true ? '' : text))
            .join(''),
          calls: partsOf(answer).flatMap(({ functionCall }) =>
            functionCall === undefined ? [] : [{ name: functionCall.name ?? '', input: functionCall.args }],
          ),
          input: usage?.promptTokenCount ?? 0,
          output: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
        };
      },
    },
  );
}

function idOf({ id }: { id?: string | undefined }): { id?: string } {
  return id === undefined ? {} : { id };
}

/** The official SDKs as a user sets them up; they retry nothing unless `retries` says so. */
export function sdkClients(
  url: string,
  apiKey: string,
  { retries: maxRetries = 0 } = {},
): Readonly<Record<DialectName, SdkClient>> {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries });
  const httpOptions = { baseUrl: url, retryOptions: { attempts: maxRetries + 1 } };
  return {
    chat: chat(openai),
    responses: responses(openai),
    messages: messages(new Anthropic({ baseURL: url, apiKey, authToken: null, maxRetries })),
    gemini: gemini(new GoogleGenAI({ apiKey, httpOptions })),
  };
}
