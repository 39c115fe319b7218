import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@gatehouse/test/eventually';
import { answerAsAuthorization } from './authorization-answers.ts';
import { answerAsChannels, answerAsHook } from './hook-answers.ts';
import { answerAsProvider } from './provider-answers.ts';
import { listOf } from './shapes.ts';

interface Message {
  id?: number | string;
  method?: string;
  params?: { name?: string };
}

const json = { 'content-type': 'application/json' };

/** Results of tools, as JSON, by the name of the tool. */
export const toolResults: Readonly<Record<string, string>> = {
  wrong_content: `{"content":[${listOf('{}', 150_000)}]}`,
  large_wrong_content: `{"content":[${listOf('{}', 3_900_000)}]}`,
  deep: `{"content":[],"structuredContent":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
  many_texts: `{"content":[${listOf('{"type":"text","text":"a"}', 3_900_000)}]}`,
};

/** The tools that the server offers. */
const listed = `{"tools":[${Object.keys({ ...toolResults, pings: '' })
  .map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`)
  .join(',')}]}`;

const wrongList = `{"tools":[${listOf('{"name":1}', 3_800_000)}]}`;

/**
 * An MCP server and a web server of somebody who means harm, within the limits of bytes: results with more wrong elements
 * than anybody can list, thousands of requests to the client, and pages that parsers are slow at.
 */
export class HostileServer {
  readonly #server: Server;
  /** The paths of requests of receivers and channels. */
  readonly #received: string[] = [];

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<HostileServer> {
    const hostile = new HostileServer();
    hostile.#server.listen(0, '127.0.0.1');
    await once(hostile.#server, 'listening');
    return hostile;
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Requests whose path begins so. */
  received(path: string): number {
    return this.#received.filter((each) => each.startsWith(path)).length;
  }

  /** Waits until there were so many. */
  async untilReceived(path: string, count: number): Promise<void> {
    await eventually(() => {
      if (this.received(path) < count) throw new Error(`no ${count} requests of ${path}`);
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? '';
    if (path.startsWith('/provider/')) answerAsProvider(Buffer.concat(chunks).toString(), response);
    else if (path.includes('/oauth/')) answerAsAuthorization(request, response);
    else if (/^\/(?:hook|telegram|slack|zalo_oa)\//.test(path)) {
      this.#received.push(path);
      if (path.startsWith('/hook/')) answerAsHook(path, response);
      else answerAsChannels(path, response, this.#received.length);
    } else if (request.url === '/page') {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<html><body>${'<div><b>'.repeat(60_000)}text`);
    } else if (request.method === 'POST')
      this.#answer(
        Buffer.concat(chunks).toString(),
        response,
        request.url === '/wrong-list' ? wrongList : listed,
      );
    else response.writeHead(405).end();
  }

  #answer(body: string, response: ServerResponse, list: string): void {
    const { id, method, params } = JSON.parse(body) as Message;
    const result = (text: string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`;
    if (id === undefined || method === undefined) response.writeHead(202).end();
    else if (method === 'initialize') {
      const server =
        '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';
      response.writeHead(200, json).end(result(server));
    } else if (method === 'tools/list') response.writeHead(200, json).end(result(list));
    else if (params?.name === 'pings')
      this.#ping(response, result('{"content":[{"type":"text","text":"late"}]}'));
    else if (method === 'tools/call')
      response.writeHead(200, json).end(result(toolResults[params?.name ?? ''] ?? '{"content":[]}'));
    else
      response
        .writeHead(200, json)
        .end(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"no such method"}}`,
        );
  }

  /** Three thousand requests of the server before its result. */
  #ping(response: ServerResponse, last: string): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 0; n < 3_000; n += 1)
      response.write(`event: message\ndata: {"jsonrpc":"2.0","id":"p${n}","method":"ping"}\n\n`);
    response.end(`event: message\ndata: ${last}\n\n`);
  }
}
