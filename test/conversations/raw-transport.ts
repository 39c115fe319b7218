import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { Line, Transport } from './client.ts';

/** Requests as they are, with the headers of all dialects. */
export function overFetch({ url, key, fetch }: Line): Transport {
  const headers = {
    ...{ 'content-type': 'application/json', authorization: `Bearer ${key}` },
    'anthropic-version': '2023-06-01',
  };
  return async ({ path, body }) => {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    return isStream ? eventsIn(text) : (JSON.parse(text) as Fields);
  };
}

function eventsIn(stream: string): Fields[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data:') && !line.includes('[DONE]'))
    .map((line) => JSON.parse(line.slice('data:'.length)) as unknown)
    .filter(isFields);
}
