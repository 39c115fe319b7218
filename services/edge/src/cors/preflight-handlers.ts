import type { ServerResponse } from 'node:http';
import type { DialectName } from '@gatehouse/contract/dialects';
import { closeWhenEarly, doorHeaders, endAnswer } from '@gatehouse/http/reply';
import type { Preflight } from './preflight.ts';

export function answerPreflight(
  response: ServerResponse,
  preflight: Preflight,
  { requestId, dialect }: { requestId: string; dialect: DialectName },
): void {
  closeWhenEarly(response);
  response.writeHead(204, { ...doorHeaders(requestId, dialect), ...preflight.headers });
  endAnswer(response);
}
