import { protocolVersion, type Health } from '@gatehouse/contract/health';
import { sendJson } from '@gatehouse/http/reply';
import { version } from '@gatehouse/kit/version';
import type { DocumentHandler } from './document.ts';

/** `GET /health`: 200 while the edge can serve, otherwise 503. */
export function healthHandler(isReady: () => boolean): DocumentHandler {
  return (_request, response) => {
    const status = isReady() ? 'ok' : 'unavailable';
    const body: Health = { status, protocol: protocolVersion, version };
    sendJson(response, status === 'ok' ? 200 : 503, body);
  };
}
