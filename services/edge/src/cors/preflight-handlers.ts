import type { ServerResponse } from 'node:http';
import { closeWhenEarly, doorHeaders, endAnswer } from '@gatehouse/http/reply';
import type { Preflight } from './preflight.ts';

export function answerPreflight(response: ServerResponse, preflight: Preflight, requestId: string): void {
  closeWhenEarly(response);
  response.writeHead(204, { ...doorHeaders(requestId), ...preflight.headers });
  endAnswer(response);
}
