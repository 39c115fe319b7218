import type { IncomingMessage, ServerResponse } from 'node:http';
import { RefusedRequest, errorBody } from './errors.ts';
import type { StandingFault } from './faults.ts';
import type { Recorder, SimulatorRequest } from './records.ts';

/** The parts of a provider that control endpoints use. */
export interface Controlled {
  readonly recorder: Recorder;
  readonly standingFault: StandingFault | null;
  /** The key, which service accounts get as their access token. */
  readonly accessToken: string;
  setFault: (fault: unknown) => void;
  reset: () => void;
}

interface ControlCall {
  request: IncomingMessage;
  response: ServerResponse;
  body: Buffer;
}

/** Control endpoints for tests in other processes: never recorded, no faults, no key needed. */
export function answerControl(provider: Controlled, { request, response, body }: ControlCall): void {
  try {
    send(response, 200, JSON.stringify(act(provider, request, body)));
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error;
    send(response, error.status, errorBody(error.toWire()));
  }
}

function act(provider: Controlled, request: IncomingMessage, body: Buffer): object {
  const url = new URL(request.url ?? '', 'http://simulator');
  switch (`${request.method ?? ''} ${url.pathname}`) {
    case 'GET /control/requests':
      return { requests: requestsSince(provider.recorder, url.searchParams.get('since')) };
    case 'GET /control/ledger':
      return provider.recorder.ledger();
    case 'POST /control/token':
      return { access_token: provider.accessToken, token_type: 'Bearer', expires_in: 3_600 };
    case 'POST /control/reset':
      provider.reset();
      return { ok: true };
    case 'POST /control/fault':
      provider.setFault(parseFaultBody(body));
      return { fault: provider.standingFault };
    case 'DELETE /control/fault':
      provider.setFault(null);
      return { fault: null };
    case 'GET /control/fault':
      return { fault: provider.standingFault };
    default:
      throw new RefusedRequest(`Invalid URL (${request.method ?? ''} ${url.pathname})`, { status: 404 });
  }
}

function parseFaultBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new RefusedRequest('A fault must be a JSON object.');
  }
}

function requestsSince(recorder: Recorder, since: string | null): Omit<SimulatorRequest, 'raw_bytes'>[] {
  const seq = Number(since ?? 0);
  if (!Number.isInteger(seq))
    throw new RefusedRequest("Invalid 'since': expected a seq.", { param: 'since' });
  return recorder.requests
    .filter((record) => record.seq > seq)
    .map(({ raw_bytes: _bytes, ...record }) => record);
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}
