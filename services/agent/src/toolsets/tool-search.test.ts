import { expect, it } from '@jest/globals';
import { bestTools } from './tool-search.ts';
import type { ListedTool } from './toolset-tools.ts';

const tool = (name: string, description = ''): ListedTool => ({
  ...{ name, description, schemaJson: '{}', readOnly: true },
  source: { type: 'mcp_server', name: 'mail' },
});

const some = [
  tool('crm__findCustomer', 'Finds a customer by name or e-mail.'),
  tool('mail__send', 'Sends an e-mail to a customer.'),
  tool('mail__list_folders', 'Lists folders.'),
  tool('docs__search', 'Durchsucht Verträge und Anlagen.'),
];
const found = async (q: string, limit = 20, tools = some) =>
  (await bestTools('t', tools, { q, limit })).map(({ name }) => name);

it.each<[string, string[]]>([
  ['customer', ['crm__findCustomer', 'mail__send']],
  ['FIND customer', ['crm__findCustomer', 'mail__send']],
  ['send', ['mail__send']],
  ['folder', ['mail__list_folders']],
  ['verträge', ['docs__search']],
  ['mail', ['mail__send', 'mail__list_folders', 'crm__findCustomer']],
  ['()*', []],
  ['weather', []],
])('%s finds %j', async (q, names) => {
  expect(await found(q)).toEqual(names);
});

it('a rare word counts more than one that all tools have', async () => {
  const tools = [...Array(50).keys()].map((n) => tool(`crm__a${n}`, 'Of the shop.'));
  const rare = tool('crm__z', 'An invoice of the shop.');
  expect(await found('shop invoice', 1, [...tools, rare])).toEqual(['crm__z']);
});

it('five thousand tools are searched without holding up others', async () => {
  const tools = [...Array(5_000).keys()].map((n) => tool(`server__tool_${n}`, 'word '.repeat(200)));
  let longest = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  expect(await found('tool_4711', 3, tools)).toEqual([
    'server__tool_4711',
    'server__tool_0',
    'server__tool_1',
  ]);
  clearInterval(watch);
  expect(longest).toBeLessThan(500);
});
