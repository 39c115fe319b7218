import type { Fields } from '@gatehouse/kit/fields';
import OpenAI from 'openai';
import type { Line, Transport } from '../client.ts';

/** OpenAI's SDK, for chat completions and responses. */
export function openAiTransport({ url, key, stream, fetch }: Line): Transport {
  const openai = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, fetch });
  return async ({ path, body: { stream: _stream, ...body } }) => {
    const answer = path.endsWith('/responses')
      ? await respond(openai, body, stream)
      : await complete(openai, body, stream);
    return answer as unknown as Fields;
  };
}

function complete(openai: OpenAI, fields: Fields, stream: boolean): Promise<OpenAI.ChatCompletion> {
  type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>;
  const body = fields as unknown as Body;
  if (!stream) return openai.chat.completions.create(body);
  return openai.chat.completions.stream(body).finalChatCompletion();
}

function respond(openai: OpenAI, fields: Fields, stream: boolean): Promise<OpenAI.Responses.Response> {
  type Body = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;
  const body = fields as unknown as Body;
  return stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body);
}
