import { connect } from 'node:net';

const apiVersionsKey = 18;
const correlationId = 1;

/**
 * The smallest request of the protocol: ApiVersions, version 0, without a client id (https://kafka.apache.org/protocol,
 * request header version 1), prefixed by its length.
 */
function apiVersionsRequest(): Buffer {
  const request = Buffer.alloc(14);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(apiVersionsKey, 4);
  request.writeInt16BE(0, 6);
  request.writeInt32BE(correlationId, 8);
  request.writeInt16BE(-1, 12);
  return request;
}

/** Whether a broker answers requests. It accepts connections earlier. */
export async function kafkaAnswers(host: string, port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    const late = setTimeout(() => finish(false), timeoutMs);
    let received = Buffer.alloc(0);
    socket.once('connect', () => socket.write(apiVersionsRequest()));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      // Length, correlation id, error code.
      if (received.length >= 10)
        finish(received.readInt32BE(4) === correlationId && received.readInt16BE(8) === 0);
    });
    socket.once('error', () => finish(false));
    socket.once('close', () => {
      clearTimeout(late);
      finish(false);
    });
  });
}
