import type { IncomingMessage, ServerResponse } from 'node:http';

const uninvited = new WeakSet<IncomingMessage>();

/**
 * For a client that asks with `Expect: 100-continue` before it sends a body: invites it once somebody begins to read,
 * so that what is refused by its headers is never sent.
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

/** Whether a client waits to be invited: its body is not under way. */
export function isUninvited(request: IncomingMessage): boolean {
  return uninvited.has(request);
}
