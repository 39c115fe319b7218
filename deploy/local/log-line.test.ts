import { describe, expect, it } from '@jest/globals';
import { formatLine } from './log-line.ts';

const style = { nameWidth: 8, colour: false };
const at = new Date(2026, 0, 5, 12, 0, 1);

function line(fields: Record<string, unknown>): string {
  return JSON.stringify({ level: 'info', time: at.toISOString(), service: 'chat', ...fields });
}

describe('a line of the log stream', () => {
  it('has name, time, level, message and fields in columns', () => {
    expect(formatLine('chat-2', line({ msg: 'run ended', run_id: 'r1', tokens: 12 }), style)).toEqual([
      'chat-2    12:00:01 INFO  run ended run_id=r1 tokens=12',
    ]);
    expect(formatLine('tenant-1', line({ level: 'error', msg: 'oh' }), style)).toEqual([
      'tenant-1  12:00:01 ERROR oh',
    ]);
  });

  it('has the name of its service where several share a process', () => {
    expect(formatLine('gatehouse-2', line({ msg: 'm' }), style)).toEqual(['chat-2    12:00:01 INFO  m']);
    expect(formatLine('gatehouse-2', 'plain', style)).toEqual(['gatehouse-2  plain']);
  });

  it('quotes values that are not one word, so that fields stay distinct', () => {
    const fields = { msg: 'm', text: 'two words', empty: '', odd: 'a=b', list: [1], nothing: null };
    expect(formatLine('chat-1', line(fields), style)).toEqual([
      'chat-1    12:00:01 INFO  m text="two words" empty="" odd="a=b" list=[1]',
    ]);
  });

  it('keeps control characters from the terminal', () => {
    const [text = ''] = formatLine('chat-1', line({ msg: 'a\nb', field: '\u001b[2J' }), style);
    expect(text).toContain('"a\\nb"');
    expect(text).toContain('field="\\u001b[2J"');
  });

  it('shows the message of an error, and our own frames of its stack when that was not expected', () => {
    const stack = 'Error: no route\n    at call (file.ts:1:2)\n    at run (node_modules/x/y.js:3:4)';
    const err = { type: 'Error', message: 'no route', stack };
    expect(formatLine('chat-1', line({ level: 'warn', msg: 'retrying', err }), style)).toEqual([
      'chat-1    12:00:01 WARN  retrying err="no route"',
    ]);
    expect(formatLine('chat-1', line({ level: 'error', msg: 'failed', err }), style)).toEqual([
      'chat-1    12:00:01 ERROR failed err="no route"',
      'chat-1        at call (file.ts:1:2)',
    ]);
  });

  it('passes other text on behind the name', () => {
    expect(formatLine('simulator', 'listening on 1', style)).toEqual(['simulator  listening on 1']);
    expect(formatLine('chat-1', '{not json', style)).toEqual(['chat-1    {not json']);
    expect(formatLine('chat-1', '', style)).toEqual([]);
  });

  it('leaves out access lines at debug level', () => {
    expect(formatLine('edge-1', line({ level: 'debug', msg: 'request' }), style)).toEqual([]);
  });

  it('has colours only where they are wanted', () => {
    expect(formatLine('chat-1', line({ msg: 'm' }), style)[0]).not.toContain('\u001b');
    expect(formatLine('chat-1', line({ msg: 'm' }), { ...style, colour: true })[0]).toContain('\u001b[');
  });
});
