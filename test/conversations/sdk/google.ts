import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { GoogleGenAI, type Content, type Part } from '@google/genai';
import type { Line, Transport } from '../client.ts';

/** Google's SDK: a chat with the history of the one before, which the SDK writes. */
export function googleTransport({ url, key, stream }: Line): Transport {
  const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
  let history: Content[] = [];
  return async ({ path, body }) => {
    const [, model = ''] = /models\/(.+):\w+/.exec(path) ?? [];
    const { generationConfig, contents, ...config } = body;
    const chat = google.chats.create({
      ...{ model, history },
      config: { ...config, ...(isFields(generationConfig) && generationConfig) },
    });
    const newest = listOf(contents).at(-1);
    const message = listOf(isFields(newest) ? newest['parts'] : []) as Part[];
    const pieces: unknown[] = [];
    if (stream) for await (const piece of await chat.sendMessageStream({ message })) pieces.push(piece);
    else pieces.push(await chat.sendMessage({ message }));
    history = chat.getHistory(true);
    return pieces as Fields[];
  };
}
