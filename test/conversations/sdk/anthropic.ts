import Anthropic from '@anthropic-ai/sdk';
import type { Fields } from '@gatehouse/kit/fields';
import type { Line, Transport } from '../client.ts';

/** Anthropic's SDK. */
export function anthropicTransport({ url, key, stream, fetch }: Line): Transport {
  const anthropic = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0, fetch });
  return async ({ body: { stream: _stream, ...fields } }) => {
    const body = fields as unknown as Anthropic.MessageCreateParamsNonStreaming;
    const message = stream
      ? await anthropic.messages.stream(body).finalMessage()
      : await anthropic.messages.create(body);
    return message as unknown as Fields;
  };
}
