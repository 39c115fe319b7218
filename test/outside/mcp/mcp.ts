import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import OpenAI from 'openai';
import { check, mustHold } from '../step.ts';
import { call, credentials } from './gateway.ts';

/** A step of `make test-outside` (25-mcp.sh): see test/outside/README.md. Its argument is the folder of the packages. */

const packages = process.argv.at(-1) ?? '';

/** Scenarios of the client's side that the gateway supports, by the names of the conformance tests. */
const scenarios = [
  'initialize',
  'tools_call',
  'sse-retry',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/client-credentials-basic',
];

const run = promisify(execFile);

async function conforms(scenario: string): Promise<string | null> {
  const program = path.join(packages, 'conformance/dist/index.js');
  const client = `node ${path.join(import.meta.dirname, 'client.ts')}`;
  const args = [program, 'client', '--command', client, '--scenario', scenario, '--verbose'];
  return run(process.execPath, args, { timeout: 60_000, maxBuffer: 64 * 1024 * 1024 }).then(
    () => null,
    (error: unknown) => {
      const { stdout = '', stderr = '' } = Object(error) as { stdout?: string; stderr?: string };
      return `${stdout}${stderr}`.replaceAll(/\s+/g, ' ').slice(-1_500);
    },
  );
}

for (const scenario of scenarios) await check(`conformance: ${scenario}`, () => conforms(scenario));

const port = String(await freePort());
const everything = spawn(
  process.execPath,
  [path.join(packages, 'server-everything/dist/index.js'), 'streamableHttp'],
  { env: { PATH: process.env['PATH'], PORT: port }, stdio: 'ignore' },
);
try {
  const url = `http://127.0.0.1:${port}/mcp`;
  await eventually(() => fetch(url, { method: 'GET' }));
  interface Server {
    status: string;
    tools: { name: string }[];
  }
  const server = await call<Server>('/v1/mcp/servers', { name: 'everything', url });
  await check('the reference server is connected, with its tools', () => {
    const names = server.tools.map(({ name }) => name);
    const isThere =
      server.status === 'connected' && ['echo', 'get-sum'].every((name) => names.includes(name));
    return Promise.resolve(mustHold(isThere, JSON.stringify([server.status, names])));
  });
  await call('/v1/agents', {
    key: 'everything',
    model: 'gpt-4.1-mini',
    tools: { mcp_servers: ['everything'] },
  });
  await check('an agent answers with two of its tools, streamed, by the SDK', async () => {
    const client = new OpenAI({ baseURL: `${credentials.url}/v1`, apiKey: credentials.user_key });
    const instructions = {
      x_simulator: {
        tool_calls: [
          { name: 'everything__echo', arguments: { message: 'hello there' } },
          { name: 'everything__get-sum', arguments: { a: 20, b: 22 } },
        ],
      },
    };
    const stream = await client.chat.completions.create({
      model: 'agent:everything',
      messages: [{ role: 'user', content: 'Echo and add.' }],
      stream: true,
      ...instructions,
    });
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    return mustHold(text.includes('hello there') && text.includes('42'), text);
  });
} finally {
  everything.kill('SIGTERM');
  if (everything.exitCode === null) await once(everything, 'exit');
}
