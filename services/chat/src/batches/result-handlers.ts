import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { jsonLines } from '@gatehouse/contract/route';
import { leaving, tenantOf, type RawCall } from '@gatehouse/http/app';
import { clientLeft } from '@gatehouse/http/body';
import { doorHeaders } from '@gatehouse/http/reply';
import { sendStream } from '@gatehouse/http/streamed-reply';
import { AppError } from '@gatehouse/kit/errors';
import type { KeyName } from '../providers/resources.ts';
import { asAppError, resourcesOf, type BatchDependencies } from './batch-call-handlers.ts';

/** Lines of a provider, for their client. */

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  call: RawCall;
}

/** Passes on what the provider has at a path. `through`: changes it on its way. */
export async function sendLines(
  dependencies: BatchDependencies,
  { request, response, call }: Exchange,
  {
    key,
    path,
    headers: extraHeaders = {},
    through = (content) => content,
  }: {
    key: KeyName;
    path: string;
    headers?: Record<string, string>;
    through?: (content: Readable) => Readable;
  },
): Promise<void> {
  const headers = { ...doorHeaders(call.requestId, call.dialect), 'content-type': jsonLines };
  if (request.method === 'HEAD') {
    response.writeHead(200, headers).end();
    return;
  }
  await dependencies.counts.count(tenantOf(call).tenantId, 'file_downloads');
  const resources = await resourcesOf(dependencies, key, call);
  const content = await resources
    .stream({ method: 'GET', path, headers: extraHeaders, signal: leaving(response) })
    .catch((error: unknown) => {
      throw asAppError(error, key);
    });
  response.writeHead(200, headers);
  try {
    await sendStream(through(content), response);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw response.destroyed && !content.errored ? clientLeft() : asAppError(resources.broken(error));
  }
}
