import type { IncomingMessage, ServerResponse } from 'node:http';

const uninvited = new WeakSet<IncomingMessage>();

/**
 * For a request with `Expect: 100-continue`: sends 100 Continue only when something starts to read the body, so that a
 * request rejected by its headers never sends its body.
 */
export function inviteWhenRead(request: IncomingMessage, response: ServerResponse): void {
  uninvited.add(request);
  const onListener = (event: string): void => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onListener);
    if (response.headersSent) return;
    uninvited.delete(request);
    response.writeContinue();
  };
  request.on('newListener', onListener);
}

/** Whether the client still waits for 100 Continue, so its body is not being sent. */
export function isUninvited(request: IncomingMessage): boolean {
  return uninvited.has(request);
}
