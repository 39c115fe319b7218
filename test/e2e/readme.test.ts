import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '@gatehouse/local/settings';
import { eventually } from '@gatehouse/test/eventually';
import { fencedBlocks, tourPage } from '@gatehouse/test/examples';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { Terminal } from '@gatehouse/test/terminal';

const startTimeoutMs = 90_000;

/** The shell examples of a page, in their order. */
function examples(file: string): string[] {
  return fencedBlocks(readFileSync(path.join(repositoryRoot, file), 'utf8'))
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text);
}

/** The output of each shell example of the README and of the tour, after the first, which sets variables. */
const expectations: readonly { what: string; prints: RegExp }[] = [
  { what: 'gets an answer', prints: /^\{.*"object":"chat\.completion",.*"finish_reason":"stop"/ },
  {
    what: 'gets a stream of an agent with its usage',
    prints: /^data: \{.*"chat\.completion\.chunk".*"total_tokens":.*data: \[DONE\]\n\n$/s,
  },
  { what: 'shows costs', prints: /^\{.*"currency":"USD",.*"key":\{"user":"ada","model":/ },
  { what: 'lists models and agents', prints: /^\{"object":"list",.*"id":"agent:assistant"/ },
  { what: 'gets an answer', prints: /^\{.*"object":"chat\.completion",.*"finish_reason":"stop"/ },
  {
    what: 'gets a stream with its usage',
    prints: /^data: \{.*"chat\.completion\.chunk".*"total_tokens":.*data: \[DONE\]\n\n$/s,
  },
  { what: 'creates an agent', prints: /^\{.*"key":"poet",.*"parameters":\{"temperature":0\.9\}/ },
  { what: 'talks to the agent', prints: /^\{.*"object":"chat\.completion",.*The sea\./ },
  {
    what: 'gives it a memory',
    prints: /^\{.*"enabled":true.*\}\s*\{.*"path":"lighthouses\.md".*"chunks":1/s,
  },
  { what: 'shows the search in the trace', prints: /^\{.*"kind":"memory".*"passages":1/s },
  {
    what: 'registers an MCP server',
    prints:
      /^\{.*"name":"everything",.*"status":"connected",.*\}\s*\{.*"mcp_servers":\["everything\/get-sum"\]/s,
  },
  {
    what: 'shows the call of a tool in the trace',
    prints: /^\{.*The tools said:.*The sum of .*\{.*"kind":"tool"/s,
  },
  {
    what: 'asks by a webhook',
    prints: /^\{"call_id":"[-\w]+","agent_id":.*"output":".*DiskFull.*"trace_id":"/,
  },
  { what: 'shows an error', prints: /^\{"error":\{.*"code":"model_not_found",.*"request_id":"/ },
  {
    what: 'shows usage and costs',
    prints:
      /^\{.*"groups":\[.*\{"key":\{"day":"[-\d]+","model":"gpt-4\.1-mini"\}.*\{.*"currency":"USD",.*"key":\{"user":"ada"\}/s,
  },
  { what: 'lists the runs', prints: /^\{"data":\[\{.*"name":"chat agent:poet",.*"cost_usd":"0\.0000/ },
];

describe('the README and the tour', () => {
  let terminal: Terminal;
  let mcpServer: TestMcpServer;
  const [variables = '', ...commands] = ['README.md', tourPage].flatMap(examples);

  beforeAll(async () => {
    mcpServer = await TestMcpServer.start([
      {
        name: 'get-sum',
        inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
        run: () => said('The sum of 1 and 2 is 3.'),
      },
    ]);
    terminal = await Terminal.open({ EGRESS_ALLOW: '127.0.0.1' });
  }, startTimeoutMs);
  afterAll(async () => {
    await terminal.close();
    await mcpServer.stop();
  }, startTimeoutMs);

  it('has an expectation here for each of its shell examples', () => {
    expect(commands).toHaveLength(expectations.length);
  });

  it.each(expectations.map((expectation, index) => ({ ...expectation, index })))(
    '$what with the command it shows',
    async ({ index, prints }) => {
      const command = (commands[index] ?? 'false').replace('http://127.0.0.1:3001/mcp', mcpServer.url);
      const check = async () => {
        expect(await terminal.paste(`${variables}\n${command}`)).toMatch(prints);
      };
      // Runs are counted a moment after they ended: two seconds are enough unless the machine is busy.
      const counts = !command.includes(' -d ') || command.includes('sleep');
      await (counts ? eventually(check) : check());
    },
  );

  it('is short', () => {
    const words = readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8').split(/\s+/);
    expect(words.length).toBeLessThanOrEqual(700);
  });

  it.each(['README.md', 'CONTRIBUTING.md', 'STYLE.md'])('%s names only targets that make has', (file) => {
    const page = readFileSync(path.join(repositoryRoot, file), 'utf8');
    const makefile = readFileSync(path.join(repositoryRoot, 'Makefile'), 'utf8');
    const targets = [...makefile.matchAll(/^([a-z-]+):.*## /gm)].map(([, target]) => target);
    const named = new Set([...page.matchAll(/(?:^|`)make ([a-z-]+)/gm)].map(([, target]) => target));
    expect([...named].filter((target) => !targets.includes(target))).toEqual([]);
  });
});
