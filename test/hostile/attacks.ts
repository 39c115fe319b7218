import { request } from 'node:http';
import { connect } from 'node:net';
import { sleep } from '@gatehouse/kit/clock';
import { signed } from '@gatehouse/test/webhook-senders';
import { toolResults, type HostileServer } from './hostile-server.ts';

export interface Sent {
  method?: string;
  /** Text, or a value that is sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Statuses that show that the gateway has read what it got. Default: those of success. */
  statuses?: readonly number[];
}

/** The gateway as the hostile tenant sees it. */
export interface Ground {
  url: string;
  server: HostileServer;
  /** How many of so many requests an attack sends: beside other tests, a third. */
  few: (count: number) => number;
  /** Sends a request, a POST unless it says otherwise, and returns the text of its response. Throws for other statuses. */
  send: (path: string, sent: Sent) => Promise<string>;
  /** A request whose client leaves at once. */
  leave: (path: string) => void;
}

/** For a tenant with an administrative key. `share` is that of the requests of an attack that are sent. */
export function groundOf(url: string, key: string, server: HostileServer, share = 1): Ground {
  const authorization = `Bearer ${key}`;
  return {
    url,
    server,
    few: (count) => Math.ceil(count * share),
    send: async (path, { method = 'POST', body, headers = {}, statuses = [200, 201] }) => {
      for (let refused = 0; ; refused += 1) {
        const response = await fetch(url + path, {
          method,
          headers: { authorization, 'content-type': 'application/json', ...headers },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        });
        const text = await response.text();
        if (statuses.includes(response.status)) return text;
        // It has had enough of its tenant for the moment.
        if (response.status !== 503 || refused === maxRefused)
          throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
        await sleep(1_000);
      }
    },
    leave: (path) => {
      const sent = request(url + path, { headers: { authorization } }).on('error', () => undefined);
      sent.end(() => setTimeout(() => sent.destroy(), 20));
    },
  };
}

/** Refusals after which a request is not sent again. */
const maxRefused = 10;

export interface Attack {
  name: string;
  run: (ground: Ground) => Promise<unknown>;
}

export const times = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/** Text on which a Markdown parser takes seconds. */
const slowMarkdown = '1. '.repeat(2_730);

export const newName = (): string => `n${Math.random().toString(36).slice(2)}`;

/** The id of a new agent. */
export async function makeAgent({ send }: Ground, settings: object): Promise<string> {
  const made = await send('/v1/agents', { body: { key: newName(), model: 'gpt-4.1-mini', ...settings } });
  return (JSON.parse(made) as { id: string }).id;
}

/** Lets the model call a tool of an agent. */
async function callTool(
  ground: Ground,
  agent: string,
  call: { name: string; arguments: object },
): Promise<void> {
  await times(ground.few(2), () =>
    ground.send('/v1/chat/completions', {
      body: {
        model: `agent:${agent}`,
        messages: [{ role: 'user', content: 'Go.' }],
        x_simulator: { tool_calls: [call] },
      },
    }),
  );
}

/** Lets the model call a tool of the hostile server. */
async function callServer(ground: Ground, tool: string): Promise<void> {
  const name = newName();
  await ground.send('/v1/mcp/servers', { body: { name, url: ground.server.url('/mcp') } });
  const agent = await makeAgent(ground, { tools: { mcp_servers: [name] } });
  await callTool(ground, agent, { name: `${name}__${tool}`, arguments: {} });
}

/** Delivers payloads to an endpoint with this template. */
async function deliver(ground: Ground, template: string, payload: object): Promise<void> {
  const agent = await makeAgent(ground, {});
  const made = await ground.send('/v1/webhooks/endpoints', {
    body: { name: newName(), agent_id: agent, scheme: 'standard', template, mode: 'sync' },
  });
  const { id, secret } = JSON.parse(made) as { id: string; secret: string };
  const body = JSON.stringify(payload);
  await times(ground.few(6), (index) => {
    const headers = signed({ scheme: 'standard', secret }, body, { id: `d${index}` });
    return ground.send(`/v1/webhooks/llm?endpoint=${id}`, { body, headers, statuses: [422, 503] });
  });
}

const messages = (count: number): string =>
  `{"model":"nope","messages":[${Array(count).fill('{"role":"user","content":"xxxxxxxx"}').join(',')}]}`;
const members = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));

/** One for each reader of something that comes from outside. */
export const attacks: Attack[] = [
  {
    name: 'short Markdown that parsers are slow at',
    run: async (ground) => {
      const agent = await makeAgent(ground, {});
      await times(ground.few(8), (n) =>
        ground.send(`/v1/agents/${agent}/memory/documents/d${n}`, {
          method: 'PUT',
          body: { text: slowMarkdown, scope: 'agent' },
        }),
      );
    },
  },
  {
    name: 'an import of such Markdown',
    run: async (ground) => {
      const agent = await makeAgent(ground, {});
      const lines = Array.from({ length: ground.few(4) }, (_, n) =>
        JSON.stringify({ kind: 'document', path: `d${n}`, text: slowMarkdown, scope: 'agent' }),
      );
      await ground.send(`/v1/agents/${agent}/memory/import`, {
        body: lines.join('\n'),
        headers: { 'content-type': 'application/x-ndjson' },
        // A tenant has one import at a time.
        statuses: [200, 201, 429],
      });
    },
  },
  {
    name: 'templates that fill the memory',
    run: (ground) =>
      deliver(ground, '{% assign a = (1..3900000) %}{% assign b = (1..15000000) %}{{ b | size }}', {}),
  },
  {
    name: 'templates that search for seconds',
    run: (ground) =>
      deliver(ground, '{% for i in (1..5000) %}{% assign x = a | split: b %}{% endfor %}{{ x | size }}', {
        a: 'a'.repeat(200_000),
        b: `${'a'.repeat(300)}b${'a'.repeat(300)}`,
      }),
  },
  {
    name: 'a list of tools with wrong elements',
    run: (ground) =>
      times(4, () =>
        ground.send('/v1/mcp/servers', {
          body: { name: newName(), url: ground.server.url('/wrong-list') },
          statuses: [422],
        }),
      ),
  },
  ...[...Object.keys(toolResults), 'pings'].map((tool) => ({
    name: `a tool that answers with ${tool.replaceAll('_', ' ')}`,
    run: (ground: Ground) => callServer(ground, tool),
  })),
  {
    name: 'a page that parsers are slow at',
    run: async (ground) => {
      const agent = await makeAgent(ground, { tools: { builtin: ['web_fetch'] } });
      await callTool(ground, agent, { name: 'web_fetch', arguments: { url: ground.server.url('/page') } });
    },
  },
  {
    name: 'chat bodies with as many messages as fit, for a model that does not exist',
    run: (ground) => {
      const bodies = [messages(110_000), messages(24_000)];
      return times(8, (n) =>
        ground.send('/v1/chat/completions', { body: bodies[n % 2], statuses: [n % 2 === 0 ? 413 : 404] }),
      );
    },
  },
  {
    name: 'bodies with as many members as fit',
    run: async (ground) => {
      const agent = await makeAgent(ground, {});
      const properties = members(700);
      const entities = Array.from({ length: 60 }, (_, n) => ({ name: `e${n}`, type: 't', properties }));
      await times(4, () => ground.send(`/v1/agents/${agent}/kg/entities`, { body: { entities } }));
      await times(4, () => ground.send('/v1/agents', { body: members(45_000), statuses: [400] }));
    },
  },
  {
    name: 'cookies as many and as large as a browser has',
    run: async (ground) => {
      const agent = await makeAgent(ground, {});
      const cookies = Array.from({ length: 500 }, (_, n) => ({
        name: `c${n}`,
        value: 'v'.repeat(1_800),
        domain: `h${n}.example.com`,
        path: '/',
      }));
      await times(6, () =>
        ground.send('/v1/browser/cookies/sync', {
          body: { agent_id: agent, mode: 'replace', source: 'test', cookies },
          headers: { 'x-service-user-id': 'anna' },
        }),
      );
    },
  },
  {
    name: 'lists whose clients leave',
    run: async (ground) => {
      for (let n = 0; n < 270; n += 1) ground.leave('/v1/agents?limit=200');
      await ground.send('/v1/agents', { method: 'GET' });
    },
  },
  {
    name: 'slow senders without a key',
    run: async ({ url }) => {
      const { hostname, port } = new URL(url);
      const sockets = Array.from({ length: 40 }, () => {
        const socket = connect(Number(port), hostname).on('error', () => undefined);
        socket.write(
          'POST /v1/webhooks/llm?endpoint=01980000-0000-7000-8000-000000000000 HTTP/1.1\r\nhost: x\r\n' +
            'content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{',
        );
        return socket;
      });
      await sleep(1_500);
      for (const socket of sockets) socket.destroy();
    },
  },
];
