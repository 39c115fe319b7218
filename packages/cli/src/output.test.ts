import { expect, it } from '@jest/globals';
import { Output } from './output.ts';

const name = 'a\u001b[2Jb\u009b31mc\u202ed\u200fe\u007f';

function written(isJson: boolean, write: (output: Output) => void): string {
  let text = '';
  write(new Output((piece) => (text += piece), isJson));
  return text;
}

it('a table and a line have no character that steers a terminal', () => {
  const table = written(false, (output) => output.answer({ data: [{ name, tab: 'x\ty\nz' }] }));
  expect(table).toBe('NAME              TAB\na�[2Jb�31mc�d�e�  x y⏎z\n');
  expect(written(false, (output) => output.line(name))).toBe('a�[2Jb�31mc�d�e�\n');
});

it('JSON has the same value without such a character', () => {
  const json = written(true, (output) => output.answer({ name }));
  expect(JSON.parse(json)).toEqual({ name });
  expect(json.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]*$/);
});

it('a list has the columns of its command, in their order', () => {
  const data = [{ id: 'r', name: 'chat small', agent_key: null, status: 'ok' }];
  const table = written(false, (output) => output.answer({ data }, ['status', 'agent_key', 'id']));
  expect(table).toBe('STATUS  AGENT_KEY  ID\nok      -          r\n');
});
