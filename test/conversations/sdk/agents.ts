import {
  setTracingDisabled,
  system as systemItem,
  user,
  withTrace,
  type AgentInputItem,
  type AgentOutputItem,
  type ModelRequest,
} from '@openai/agents-core';
import { OpenAIChatCompletionsModel, OpenAIResponsesModel } from '@openai/agents-openai';
import type { DialectName } from '@gatehouse/contract/dialects';
import OpenAI from 'openai';
import type { Client, Line } from '../client.ts';
import type { Place } from '../plan.ts';
import {
  documentSchema,
  jpeg,
  limitOf,
  lookSchema,
  resultsOf,
  system,
  wantsThoughts,
  type Reply,
  type Turn,
} from '../turns.ts';

setTracingDisabled(true);

type AgentsDialect = Extract<DialectName, 'chat' | 'responses'>;

const models = { chat: OpenAIChatCompletionsModel, responses: OpenAIResponsesModel };

/** OpenAI's Agents SDK, with items of its own; those of reasoning go back by their ids alone. */
export function agentsClient({ url, key, stream, fetch }: Line, dialect: AgentsDialect): Client {
  const openai = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, fetch });
  // It throws for cut responses, and its streams of chat don't say why they ended.
  const isUncut = stream || dialect === 'responses';
  const input: AgentInputItem[] = [];
  let calls: Reply['calls'] = [];
  return {
    say: async (turn, place) => {
      input.push(...itemsOf(turn, calls));
      const model = new models[dialect](openai, place.model);
      const request = requestOf(turn, place, { dialect, input, limit: isUncut ? 4_096 : limitOf(turn) });
      const answer = stream
        ? await streamed(model.getStreamedResponse(request))
        : await withTrace('conversation', async () => model.getResponse(request));
      input.push(...answer.output);
      calls = answer.output.flatMap((item) =>
        item.type === 'function_call'
          ? [{ id: item.callId, name: item.name, input: JSON.parse(item.arguments) as unknown }]
          : [],
      );
      const stop = isUncut ? 'length' : JSON.stringify(answer.providerData ?? null);
      return { texts: answer.output.flatMap(textsOf), calls, stop, ids: [answer.responseId ?? ''] };
    },
  };
}

type Answer = Pick<
  Awaited<ReturnType<OpenAIResponsesModel['getResponse']>>,
  'output' | 'providerData' | 'responseId'
>;

async function streamed(events: ReturnType<OpenAIResponsesModel['getStreamedResponse']>): Promise<Answer> {
  let answer: Answer | undefined;
  for await (const event of events)
    if (event.type === 'response_done')
      answer = {
        output: event.response.output,
        providerData: event.response.providerData ?? {},
        responseId: event.response.id,
      };
  if (answer === undefined) throw new Error('the stream has no end');
  return answer;
}

function textsOf(item: AgentOutputItem): string[] {
  if (item.type !== 'message' || typeof item.content === 'string') return [];
  return item.content.flatMap((part) => (part.type === 'output_text' ? [part.text] : []));
}

function itemsOf(turn: Turn, calls: Reply['calls']): AgentInputItem[] {
  const image = `data:image/png;base64,${jpeg}`;
  return [
    ...(turn.feature === 'results' ? resultsOf(calls) : []).map(({ id, name, text }) => ({
      ...{ type: 'function_call_result' as const, callId: id, name, status: 'completed' as const },
      output: { type: 'text' as const, text },
    })),
    ...(turn.feature === 'system' ? [systemItem('Be brief from here on.')] : []),
    ...(turn.text === null
      ? []
      : [
          user([
            { type: 'input_text', text: turn.text },
            ...(turn.feature === 'picture' ? [{ type: 'input_image' as const, image }] : []),
          ]),
        ]),
  ];
}

function requestOf(
  turn: Turn,
  place: Place,
  { dialect, input, limit }: { dialect: AgentsDialect; input: AgentInputItem[]; limit: number },
): ModelRequest {
  const thinks = wantsThoughts(turn) && (place.api !== dialect || place.thinks !== false);
  return {
    ...{ systemInstructions: system, input: [...input], handoffs: [], tracing: false },
    tools: [
      {
        type: 'function',
        name: 'look',
        description: 'Looks at a place.',
        parameters: lookSchema,
        strict: false,
      },
    ],
    outputType:
      turn.feature === 'structured'
        ? { type: 'json_schema', name: 'document', strict: true, schema: documentSchema }
        : 'text',
    modelSettings: {
      maxTokens: limit,
      ...(turn.isForced === true && { toolChoice: 'required' }),
      ...(thinks && { reasoning: { effort: 'high', summary: 'auto' } }),
    },
  };
}
