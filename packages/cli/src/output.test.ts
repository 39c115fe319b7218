import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Output, type Format } from './output.ts';

const name = 'a\u001b[2Jb\u009b31mc\u202ed\u200fe\u007f';

function written(format: Format, write: (output: Output) => void): string {
  let text = '';
  write(new Output((piece) => (text += piece), format));
  return text;
}

it('a table and a line have no character that steers a terminal', () => {
  const table = written('table', (output) => output.answer({ data: [{ name, tab: 'x\ty\nz' }] }));
  expect(table).toBe('NAME              TAB\na�[2Jb�31mc�d�e�  x y⏎z\n');
  expect(written('table', (output) => output.line(name))).toBe('a�[2Jb�31mc�d�e�\n');
});

it('JSON has the same value without such a character', () => {
  const json = written('json', (output) => output.answer({ name }));
  expect(JSON.parse(json)).toEqual({ name });
  expect(json.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]*$/);
});

it('a list has the columns of its command, in their order', () => {
  const data = [{ id: 'r', name: 'chat small', agent_key: null, status: 'ok' }];
  const table = written('table', (output) => output.answer({ data }, ['status', 'agent_key', 'id']));
  expect(table).toBe('STATUS  AGENT_KEY  ID\nok      -          r\n');
});

it('YAML has the same value without such a character', () => {
  const value = { data: [{ name, [name]: 'x\ty\nz', scopes: ['chat'] }] };
  const yaml = written('yaml', (output) => output.answer(value));
  expect(parse(yaml)).toEqual(value);
  expect(yaml.replaceAll('\n', '')).toMatch(/^[\x20-\x7e\t]*$/);
});

it('tables have no JSON: nested members are lines, and lists are words', () => {
  const agent = {
    key: 'clerk',
    scopes: ['chat', 'agents.read'],
    tools: { builtin: [], limits: { max_iterations: 10 } },
    metadata: {},
    budget: null,
  };
  expect(written('table', (output) => output.answer(agent))).toBe(
    [
      'key                          clerk',
      'scopes                       chat, agents.read',
      'tools.builtin                -',
      'tools.limits.max_iterations  10',
      'metadata                     -',
      'budget                       -\n',
    ].join('\n'),
  );
  const data = [
    { name: 'ci', budget: { usd: '5.00', period: 'day', left: null }, agents: [{ key: 'a' }, {}] },
  ];
  expect(written('table', (output) => output.answer({ data }, ['name', 'budget', 'agents']))).toBe(
    'NAME  BUDGET                  AGENTS\nci    usd: 5.00, period: day  a, (-)\n',
  );
});
